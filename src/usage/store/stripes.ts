// Whoever stores events of a workspace holds the lock of its stripe until the commit; whoever must know that nothing
// is about to be committed waits for it.

import type { Transaction } from '../../infra/postgres/client.ts';

/** First number of the advisory locks; any fixed one does. */
export const STORAGE_LOCK = 1_431_193_415;
/** A power of two; few enough to lock all, many enough that workspaces seldom share one. */
export const STRIPES = 64;

/**
 * Resolves when everything that was being stored for the workspace is committed or given up. What is committed later
 * has a later time than this moment.
 */
export async function awaitStoring(sql: Transaction, workspaceId: string): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock_shared(${STORAGE_LOCK}, hashtext(${workspaceId}) & ${STRIPES - 1})`;
}
