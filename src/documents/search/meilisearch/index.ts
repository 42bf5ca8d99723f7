// The engine that answers from the mirror: Meilisearch says what is found, while it has every change of the workspace.

import { createCircuitBreaker } from '../../../core/circuit-breaker.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Indexes } from '../../../infra/meilisearch/indexes.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import type { ShownDocument } from '../../document.ts';
import { shownColumns } from '../../rows.ts';
import { planSearch, type SearchPlan } from '../postgres/statement.ts';
import type { SearchPage, SearchQuery } from '../query.ts';
import { normalise, runsIn } from '../terms.ts';
import { type Compiled, compile } from './compile.ts';
import { INDEX_VERSION } from './document.ts';

/** No search waits longer for Meilisearch before Postgres is asked. */
const TIMEOUT_MS = 1000;
/** Failures in a row after which Meilisearch is left alone for a while. */
const CIRCUIT = { failuresMax: 5, openMsMin: 1000, openMsMax: 30_000 };

/** The index that answers, and the last task of the server after which changes left the outbox. */
type FreshIndex = { indexUid: string; task: number };
type Found = { ids: string[]; total: number };

export function createMeilisearchSearch(deps: {
  sql: Sql;
  indexes: Pick<Indexes, 'page' | 'ranked'>;
  bucket: string;
  log: Logger;
  timeoutMs?: number;
  now?: () => number;
}) {
  const { sql, indexes, bucket, log, timeoutMs = TIMEOUT_MS, now = () => performance.now() } = deps;
  const circuit = createCircuitBreaker({ ...CIRCUIT, now });

  return {
    /** Whether a search may ask Meilisearch; after failures as soon as the cooldown is over. */
    isUsable: () => circuit.state() !== 'open',

    /** Undefined where Meilisearch cannot answer exactly, lacks a change, or fails: Postgres answers then. */
    async search(query: SearchQuery): Promise<SearchPage | undefined> {
      const plan = planSearch(sql, query, { bucket, vocabulary: new Map() });
      const compiled = compile(plan);
      if (compiled === undefined || plan.findsNothing || !circuit.allows()) return undefined;
      // 1. An index that has every change of the workspace that is committed by now.
      const index = await findFreshIndex(query.viewer.workspaceId);
      if (index === undefined) return undefined;
      // 2. What it finds: all of that, and perhaps later changes.
      const found = await ask(query, compiled, index);
      // 3. The records as they are now. If one no longer is what was searched for, nothing of the page is shown.
      const documents = found && (await read(plan, found.ids, index));
      return documents && found && { documents, total: found.total };
    },
  };

  async function findFreshIndex(workspaceId: string): Promise<FreshIndex | undefined> {
    const [index] = await sql<FreshIndex[]>`
      SELECT index_uid AS "indexUid", task FROM search_mirror WHERE ready AND version = ${INDEX_VERSION}
        AND NOT EXISTS (SELECT FROM search_outbox WHERE workspace_id = ${workspaceId})`;
    return index;
  }

  async function ask(query: SearchQuery, compiled: Compiled, index: FreshIndex): Promise<Found | undefined> {
    circuit.begin();
    try {
      const found = await findIds(query, compiled, index.indexUid);
      if (circuit.state() !== 'closed') log.info({}, 'the search server answers searches again');
      circuit.succeed();
      return found;
    } catch (error) {
      const wasClosed = circuit.state() === 'closed';
      circuit.fail();
      if (wasClosed && circuit.state() === 'open')
        log.warn({ err: error }, 'the search server fails or is slow: Postgres answers searches alone');
      return undefined;
    }
  }

  async function findIds(
    { text, offset, limit }: SearchQuery,
    { filter, sort }: Compiled,
    indexUid: string,
  ): Promise<Found> {
    const signal = AbortSignal.timeout(timeoutMs);
    type Row = { id: string };
    const { results, total } =
      text === undefined
        ? await indexes.page<Row>(indexUid, { filter, sort, offset, limit, fields: ['id'] }, signal)
        : await indexes.ranked<Row>(
            indexUid,
            {
              // Neither quotes nor signs: they have a meaning of their own there, and the last word is taken for unfinished only at the very end.
              q: runsIn(normalise(text)).join(' '),
              filter,
              sort,
              page: offset / limit + 1,
              size: limit,
            },
            signal,
          );
    return { ids: results.map(({ id }) => id), total };
  }

  /** The records in the order given; undefined when one does not fulfil the conditions, or with words may have changed. */
  async function read(
    { query, from, where }: SearchPlan,
    ids: readonly string[],
    { indexUid, task }: FreshIndex,
  ): Promise<ShownDocument[] | undefined> {
    if (ids.length === 0) return [];
    // What has changed waits in the outbox until a later task is done.
    const unchanged =
      query.text === undefined
        ? sql`true`
        : sql`NOT EXISTS (SELECT FROM search_outbox WHERE document_id = s.id)
            AND EXISTS (SELECT FROM search_mirror WHERE index_uid = ${indexUid} AND task = ${task})`;
    const documents = await sql<ShownDocument[]>`
      SELECT ${shownColumns(sql)} FROM (
        SELECT s.id AS found FROM ${from()} WHERE s.id = ANY (${ids as string[]}::uuid[]) AND ${where} AND ${unchanged}
        OFFSET 0) page
      JOIN documents d ON d.id = page.found`;
    const byId = new Map(documents.map((document) => [document.id, document]));
    const inOrder = ids.map((id) => byId.get(id));
    return inOrder.every((document) => document !== undefined) ? inOrder : undefined;
  }
}
