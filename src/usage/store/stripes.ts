// Whoever stores events of a workspace holds the lock of its stripe until the commit; whoever must know that nothing
// is about to be committed waits for it.

import { createSemaphore } from '../../core/semaphore.ts';
import type { Transaction } from '../../infra/postgres/client.ts';

/** First number of the advisory locks; any fixed one does. */
export const STORAGE_LOCK = 1_431_193_415;
/** A power of two; few enough to lock all, many enough that workspaces seldom share one. */
export const STRIPES = 64;

/** Waits hold connections of the common pool: few, whatever is stored and however many read. */
const WAITS_MAX = 3;
const WAITING_MAX = 1000;

/**
 * Makes a function that resolves when everything that was being stored for the workspace is committed or given up. What
 * is committed later has a later time than the call. Throws 503 when far too many wait.
 */
export function createStorageBarrier(sql: Transaction): (workspaceId: string) => Promise<void> {
  const limit = createSemaphore({
    ...{ runningMax: WAITS_MAX, waitingMax: WAITING_MAX },
    refuse: 'Too many readers wait for events that are being stored',
  });
  /** Those that have not begun yet: whoever comes now may share one. */
  const coming = new Map<string, Promise<void>>();
  return (workspaceId) => {
    const shared = coming.get(workspaceId);
    if (shared !== undefined) return shared;
    let begun = false;
    const wait = limit.run(async () => {
      begun = true;
      coming.delete(workspaceId);
      await sql`SELECT pg_advisory_xact_lock_shared(${STORAGE_LOCK}, hashtext(${workspaceId}) & ${STRIPES - 1})`;
    });
    if (begun) return wait;
    coming.set(workspaceId, wait);
    // One that was refused never begins.
    wait.catch(() => coming.delete(workspaceId));
    return wait;
  };
}
