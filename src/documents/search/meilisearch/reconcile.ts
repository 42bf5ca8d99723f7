// Whether the index holds what the documents say, each compared by a fingerprint. Documents change meanwhile: what
// waits in the outbox is passed over, and what seems to differ is looked at again.

import { type Indexes, IndexingError } from '../../../infra/meilisearch/indexes.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import type { Document } from '../../document.ts';
import { documentColumns, FIRST_ID } from '../../rows.ts';
import { toMirrored } from './document.ts';
import { createOutbox } from './outbox.ts';
import { createRegistrations } from './registrations.ts';

export type Drift = {
  /** Documents that were compared; those that wait to be sent are not among them. */
  compared: number;
  waiting: number;
  missing: number;
  extra: number;
  different: number;
};

/** Few, for they are digested in one go, beside whatever the process serves. */
const DOCUMENTS_PER_STEP = 200;
const HELD_PER_STEP = 1000;
const BYTES_PER_STEP = 10_000_000;

type Held = { id: string; workspace: string; fingerprint: string };
type Expected = { id: string; workspaceId: string; fingerprint: string; waits: boolean };

export function createReconciliation({ sql, indexes }: { sql: Sql; indexes: Indexes }) {
  const outbox = createOutbox(sql);

  const read = async (condition: ReturnType<typeof sql>): Promise<Expected[]> => {
    const rows = await sql<(Document & { waits: boolean })[]>`
      SELECT ${documentColumns(sql)}, waits FROM (
        SELECT *, EXISTS (SELECT FROM search_outbox WHERE document_id = d.id) AS waits,
          sum(pg_column_size(d)) OVER (ORDER BY id) - pg_column_size(d) AS bytes_before
        FROM documents d WHERE ${condition} ORDER BY id LIMIT ${DOCUMENTS_PER_STEP}) page
      WHERE bytes_before < ${BYTES_PER_STEP} ORDER BY id`;
    const expected: Expected[] = [];
    for (const { waits, ...document } of rows) {
      const { id, workspaceId } = document;
      expected.push({ id, workspaceId, fingerprint: (await toMirrored(document)).fingerprint, waits });
    }
    return expected;
  };
  const readHeld = async (indexUid: string, ids: readonly string[], signal: AbortSignal) => {
    const fields = ['id', 'workspace', 'fingerprint'];
    const query = { ids, fields, limit: ids.length };
    const { results } =
      ids.length === 0 ? { results: [] } : await indexes.page<Held>(indexUid, query, signal);
    return new Map(results.map((row) => [row.id, row]));
  };

  /** Counts the documents of one step that the index lacks or has otherwise, and returns them. */
  const compare = async (context: Context, expected: readonly Expected[]): Promise<Expected[]> => {
    const { indexUid, signal, drift } = context;
    const settled = expected.filter(({ waits }) => !waits);
    const held = await readHeld(indexUid, idsOf(settled), signal);
    const suspects = settled.filter(({ id, fingerprint }) => held.get(id)?.fingerprint !== fingerprint);
    const again = suspects.length === 0 ? [] : await read(sql`id = ANY (${idsOf(suspects)}::uuid[])`);
    const unchanged = new Set(
      again.filter(({ waits }) => !waits).map(({ id, fingerprint }) => `${id} ${fingerprint}`),
    );
    const drifted = suspects.filter(({ id, fingerprint }) => unchanged.has(`${id} ${fingerprint}`));
    drift.compared += settled.length;
    drift.waiting += expected.length - settled.length;
    for (const { id } of drifted) drift[held.has(id) ? 'different' : 'missing'] += 1;
    return drifted;
  };

  /** The same for documents that only the index has. */
  const findExtra = async (context: Context, page: readonly Held[]): Promise<Held[]> => {
    const { indexUid, signal, drift } = context;
    const rows = await sql<{ id: string }[]>`
      SELECT id FROM unnest(${idsOf(page)}::uuid[]) AS held (id)
      WHERE NOT EXISTS (SELECT FROM documents d WHERE d.id = held.id)
        AND NOT EXISTS (SELECT FROM search_outbox WHERE document_id = held.id)`;
    const extra = [...(await readHeld(indexUid, idsOf(rows), signal)).values()];
    drift.extra += extra.length;
    return extra;
  };

  return {
    /** With `repair`, what differs is queued to be sent again. Throws when no index is complete. */
    async run({ repair, signal }: { repair: boolean; signal: AbortSignal }): Promise<Drift> {
      const ready = (await createRegistrations(sql).list()).find((each) => each.ready);
      if (ready === undefined) throw new IndexingError('there is no complete index yet');
      const drift: Drift = { compared: 0, waiting: 0, missing: 0, extra: 0, different: 0 };
      const context = { indexUid: ready.indexUid, signal, drift };
      const queue = async (documents: readonly { id: string; workspaceId: string }[]): Promise<void> => {
        if (repair && documents.length > 0) await outbox.add(documents);
      };
      for (let after: string | undefined = FIRST_ID; after !== undefined && !signal.aborted; ) {
        const expected = await read(sql`id > ${after}`);
        await queue(await compare(context, expected));
        after = expected.at(-1)?.id;
      }
      // Queued at the end: deletions would move the pages that are still to be read.
      const extra: Held[] = [];
      for (let offset = 0; !signal.aborted; offset += HELD_PER_STEP) {
        const query = { fields: ['id', 'workspace'], limit: HELD_PER_STEP, offset };
        const { results } = await indexes.page<Held>(ready.indexUid, query, signal);
        if (results.length === 0) break;
        extra.push(...(await findExtra(context, results)));
      }
      await queue(extra.map(({ id, workspace }) => ({ id, workspaceId: workspace })));
      return drift;
    },
  };
}

type Context = { indexUid: string; signal: AbortSignal; drift: Drift };

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
