// The engine that answers from the mirror: Meilisearch says what is found, while it has every change of the workspace. Conditions
// are only terms, classes and numbers, so that its own rules of comparing text do not apply.

import { createCircuitBreaker } from '../../../core/circuit-breaker.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Indexes } from '../../../infra/meilisearch/indexes.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import type { ShownDocument } from '../../document.ts';
import type { Order, Predicate } from '../../filter/ast.ts';
import { shownColumns } from '../../rows.ts';
import type { Visible } from '../conditions.ts';
import { planSearch, type SearchPlan } from '../postgres/statement.ts';
import type { SearchPage, SearchQuery } from '../query.ts';
import { normalise, runsIn } from '../terms.ts';
import { INDEX_VERSION, toMirroredTerm } from './document.ts';

/** No search waits longer for Meilisearch before Postgres is asked. */
const TIMEOUT_MS = 1000;
/** Failures in a row after which Meilisearch is left alone for a while. */
const CIRCUIT = { failuresMax: 5, openMsMin: 1000, openMsMax: 30_000 };
/** Deeper pages take Meilisearch longer than Postgres. */
const OFFSET_MAX = 1000;
/** Terms in one query; beyond it the filter takes longer to read than to answer. */
const TERMS_MAX = 500;

type Found = { results: { id: string }[]; total: number };

export function createMeilisearchSearch(deps: {
  sql: Sql;
  indexes: Pick<Indexes, 'page' | 'ranked'>;
  bucket: string;
  log: Logger;
  timeoutMs?: number;
  now?: () => number;
}) {
  const { sql, indexes, log, timeoutMs = TIMEOUT_MS, now = () => performance.now() } = deps;
  const circuit = createCircuitBreaker({ ...CIRCUIT, now });

  /** The index, if it has every change of the workspace, and the last task after which changes left the outbox. */
  async function findFreshIndex(workspaceId: string): Promise<{ uid: string; task: number } | undefined> {
    const [index] = await sql<{ uid: string; task: number }[]>`
      SELECT index_uid AS uid, task FROM search_mirror WHERE ready AND version = ${INDEX_VERSION}
        AND NOT EXISTS (SELECT FROM search_outbox WHERE workspace_id = ${workspaceId})`;
    return index;
  }

  async function ask(uid: string, { text, offset, limit }: SearchQuery, filter: string[], sort: string[]) {
    const signal = AbortSignal.timeout(timeoutMs);
    circuit.begin();
    try {
      const found: Found = await (text === undefined
        ? indexes.page(uid, { filter, sort, offset, limit, fields: ['id'] }, signal)
        : indexes.ranked(
            uid,
            // Neither quotes nor signs: they have a meaning of their own there, and only the very last word is taken for unfinished.
            { q: runsIn(normalise(text)).join(' '), filter, sort, page: offset / limit + 1, size: limit },
            signal,
          ));
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

  /** The records in the order given; undefined if one does not fulfil the conditions, or with words may have changed. */
  async function read(
    { query, from, where }: SearchPlan,
    ids: readonly string[],
    index: { uid: string; task: number },
  ): Promise<ShownDocument[] | undefined> {
    if (ids.length === 0) return [];
    // What has changed waits in the outbox until a later task is done.
    const unchanged =
      query.text === undefined
        ? sql`true`
        : sql`NOT EXISTS (SELECT FROM search_outbox WHERE document_id = s.id)
            AND EXISTS (SELECT FROM search_mirror WHERE index_uid = ${index.uid} AND task = ${index.task})`;
    const documents = await sql<ShownDocument[]>`
      SELECT ${shownColumns(sql)} FROM (
        SELECT s.id AS found FROM ${from()} WHERE s.id = ANY (${ids as string[]}::uuid[]) AND ${where} AND ${unchanged}
        OFFSET 0) page
      JOIN documents d ON d.id = page.found`;
    const byId = new Map(documents.map((document) => [document.id, document]));
    const inOrder = ids.map((id) => byId.get(id));
    return inOrder.every((document) => document !== undefined) ? inOrder : undefined;
  }

  return {
    /** Whether a search may ask Meilisearch; after failures as soon as the cooldown is over. */
    isUsable: () => circuit.state() !== 'open',

    /** Undefined where Meilisearch cannot answer exactly, lacks a change, or fails: Postgres answers then. */
    async search(query: SearchQuery): Promise<SearchPage | undefined> {
      const plan = planSearch(sql, query, { bucket: deps.bucket, vocabulary: new Map() });
      const filter = toFilter(plan);
      const sort = toSort(query.order);
      if (filter === undefined || sort === undefined) return undefined;
      if (plan.findsNothing || !circuit.allows()) return undefined;
      const index = await findFreshIndex(query.viewer.workspaceId);
      if (index === undefined) return undefined;
      const found = await ask(index.uid, query, filter, sort);
      // The records as they are now. If one no longer is what was searched for, nothing of the page is shown.
      const ids = found?.results.map(({ id }) => id);
      const documents = ids && (await read(plan, ids, index));
      return documents && found && { documents, total: found.total };
    },
  };
}

/** Conditions that all hold, in the language of Meilisearch; undefined if it could not answer exactly, or not fast. */
function toFilter({ query, conditions }: SearchPlan): string[] | undefined {
  const { visible, required, excluded, rest } = conditions;
  const { text, offset, limit, viewer } = query;
  const tests = rest.map(toTest);
  if (offset > OFFSET_MAX || required.flat().length + excluded.length > TERMS_MAX) return undefined;
  // Pages of words are numbered.
  if (text !== undefined && offset % limit !== 0) return undefined;
  if (!tests.every((test) => test !== undefined)) return undefined;
  return [
    `workspace = ${quote(viewer.workspaceId)}`,
    toVisible(visible),
    ...required.map(hasOneOf),
    ...(excluded.length === 0 ? [] : [`NOT (${hasOneOf(excluded)})`]),
    ...tests,
  ];
}

/** Text as a value, whatever stands in it. */
const quote = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

const hasOneOf = (terms: readonly string[]): string =>
  `terms IN [${terms.map((term) => quote(toMirroredTerm(term))).join(', ')}]`;

const toVisible = ({ whole, own, curated, owner, curator }: Visible): string =>
  [
    ...(whole.length === 0 ? [] : [`class IN [${whole.join(', ')}]`]),
    ...(own.length === 0 ? [] : [`(class IN [${own.join(', ')}] AND ${hasOneOf([owner])})`]),
    ...(curated.length === 0 ? [] : [`(class IN [${curated.join(', ')}] AND ${hasOneOf([curator])})`]),
  ].join(' OR ');

const COMPARISONS = { eq: '=', gt: '>', lt: '<', gte: '>=', lte: '<=' } as const;

function toTest({ attribute, test, negated }: Predicate): string | undefined {
  if (attribute !== 'created_at' && attribute !== 'file_size') return undefined;
  const present = attribute === 'created_at' ? '' : 'no_size = 0 AND ';
  if (test.kind === 'empty' && attribute === 'created_at') return undefined;
  const positive =
    test.kind === 'compare'
      ? `${present}${attribute} ${COMPARISONS[test.comparison]} ${test.value}`
      : 'no_size = 1';
  return negated ? `NOT (${positive})` : positive;
}

function toSort(order: readonly Order[]): string[] | undefined {
  const keys = order.map(({ attribute, descending }) => {
    const direction = descending ? 'desc' : 'asc';
    if (attribute === 'file_size') return ['no_size:asc', `file_size:${direction}`];
    return attribute === 'created_at' || attribute === 'id' ? [`${attribute}:${direction}`] : undefined;
  });
  return keys.every((key) => key !== undefined) ? [...keys.flat(), 'id:asc'] : undefined;
}
