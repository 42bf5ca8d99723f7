// Terms that many documents have and that are asked for. Their documents are kept as bitmaps, so that any combination
// of them is counted at once; searches show which terms those are.

import type { Sql, Transaction } from '../../../infra/postgres/client.ts';

/** Documents that have a common term; of fewer the index of terms reads all as fast. */
const DOCUMENTS_MIN = 2000;
/** A term that is not common is not looked at again for so long. */
const LOOK_AGAIN_MS = 600_000;
const WAITING_MAX = 1000;
/** Groups that are looked at, and terms whose bitmaps are made, in one pass. */
const PASS_MAX = 20;
/** Alternatives in a group; more are rare words of a common piece. */
const GROUP_MAX = 50;
/** Bits of one row of bitmaps. */
const CHUNK = 4096;

export type CommonTerms = ReturnType<typeof createCommonTerms>;

export function createCommonTerms(sql: Sql, documentsMin = DOCUMENTS_MIN) {
  const known = new Set<string>();
  /** By their terms, joined. */
  const waiting = new Map<string, readonly string[]>();
  const lookedAt = new Map<string, number>();

  const learn = async (): Promise<void> => {
    const rows = await sql<
      { term: string }[]
    >`SELECT replace(term::text, '-', '') AS term FROM document_common_terms`;
    for (const { term } of rows) known.add(term);
  };

  return {
    /** Whether there are bitmaps of all of these terms; groups of alternatives that lack one are looked at soon. */
    areAll(groups: readonly (readonly string[])[]): boolean {
      const others = groups.filter((group) => group.some((term) => !known.has(term)));
      for (const group of others) {
        if (group.length > GROUP_MAX || waiting.size >= WAITING_MAX) continue;
        const name = group.join();
        if ((lookedAt.get(name) ?? 0) <= performance.now()) waiting.set(name, group);
      }
      return others.length === 0;
    },

    /** Reads the terms that other processes have marked as common, and marks the requested terms that are. */
    async update(): Promise<void> {
      await learn();
      const common: string[] = [];
      for (const [name, group] of [...waiting].slice(0, PASS_MAX)) {
        if (await areCommon(sql, group, documentsMin)) common.push(...group);
        if (lookedAt.size > 10 * WAITING_MAX) lookedAt.clear();
        lookedAt.set(name, performance.now() + LOOK_AGAIN_MS);
        waiting.delete(name);
      }
      if (common.length === 0) return;
      await sql.begin((tx) => makeBitmaps(tx, common));
      await learn();
    },
  };
}

async function areCommon(sql: Transaction, terms: readonly string[], documentsMin: number): Promise<boolean> {
  const [row] = await sql<{ documents: number }[]>`
    SELECT count(*)::int AS documents FROM (
      SELECT FROM document_search WHERE terms && ${terms as string[]}::uuid[] LIMIT ${documentsMin}) holders`;
  return (row?.documents ?? 0) >= documentsMin;
}

/** The transaction that holds this lock may change counts and bitmaps. */
export const COUNTS_LOCK = 'documents.counts';

async function makeBitmaps(tx: Transaction, terms: readonly string[]): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${COUNTS_LOCK}, 0))`;
  const made = await tx<{ term: string }[]>`
    INSERT INTO document_common_terms SELECT unnest(${terms as string[]}::uuid[]) ON CONFLICT DO NOTHING RETURNING term`;
  await fillBitmaps(
    tx,
    made.map(({ term }) => term),
  );
}

/** Makes the bitmaps of all common terms anew; counts must not change meanwhile. */
export async function remakeBitmaps(tx: Transaction): Promise<void> {
  await tx`DELETE FROM document_bitmaps`;
  const rows = await tx<{ term: string }[]>`SELECT term FROM document_common_terms`;
  for (let first = 0; first < rows.length; first += PASS_MAX)
    await fillBitmaps(
      tx,
      rows.slice(first, first + PASS_MAX).map(({ term }) => term),
    );
}

/**
 * Bitmaps of everything but what waits to be folded: that is added to whatever is read from them, and folded into them
 * like the rest.
 */
async function fillBitmaps(tx: Transaction, fresh: string[]): Promise<void> {
  const changes = await tx<BitChange[]>`
    SELECT term, class, day::text AS day, number / ${CHUNK} AS chunk, array_agg((number % ${CHUNK})::int) AS added,
      '{}'::int[] AS removed
    FROM (
      SELECT term, class, day, number FROM (
        SELECT term, class, (created_at AT TIME ZONE 'UTC')::date AS day, number, 1 AS documents
        FROM document_search, unnest(terms) AS of (term) WHERE terms && ${fresh}::uuid[] AND term = ANY (${fresh}::uuid[])
        UNION ALL
        SELECT term, class, day, number, -documents
        FROM document_count_changes, unnest(terms) AS of (term) WHERE term = ANY (${fresh}::uuid[])) state
      GROUP BY 1, 2, 3, 4 HAVING sum(documents) > 0) folded
    GROUP BY 1, 2, 3, 4`;
  await changeBitmaps(tx, changes);
}

/** Bits of one row of bitmaps to be set and to be cleared, by their places. */
export type BitChange = {
  term: string;
  class: number;
  day: string;
  chunk: number;
  added: number[] | null;
  removed: number[] | null;
};

const ROWS_PER_STATEMENT = 500;

export async function changeBitmaps(tx: Transaction, changes: readonly BitChange[]): Promise<void> {
  for (let first = 0; first < changes.length; first += ROWS_PER_STATEMENT) {
    const rows = changes.slice(first, first + ROWS_PER_STATEMENT).map(({ added, removed, ...key }) => ({
      ...key,
      added: toMask(added ?? []),
      removed: toMask(removed ?? []),
    }));
    await tx`
      INSERT INTO document_bitmaps AS kept (term, class, day, chunk, bits)
      SELECT term, class, day, chunk, added::bit(4096) FROM jsonb_to_recordset(${tx.json(rows)}::jsonb)
        AS change (term uuid, class smallint, day date, chunk bigint, added text, removed text)
      ON CONFLICT (term, class, day, chunk) DO UPDATE SET bits = (kept.bits | excluded.bits)`;
    const cleared = rows.filter(({ removed }) => removed.includes('1'));
    if (cleared.length === 0) continue;
    await tx`
      UPDATE document_bitmaps kept SET bits = kept.bits & ~change.removed::bit(4096)
      FROM jsonb_to_recordset(${tx.json(cleared)}::jsonb)
        AS change (term uuid, class smallint, day date, chunk bigint, removed text)
      WHERE (kept.term, kept.class, kept.day, kept.chunk) = (change.term, change.class, change.day, change.chunk)`;
  }
}

function toMask(places: readonly number[]): string {
  const mask = Buffer.alloc(CHUNK, '0');
  for (const place of places) mask[place] = 0x31;
  return mask.toString('latin1');
}
