// A transaction that stores events of a workspace holds the lock of its stripe until the commit. A reader that needs
// all commits in progress waits for this lock.

import { createSemaphore } from '../../core/semaphore.ts';
import type { Transaction } from '../../infra/postgres/client.ts';

/** First number of the advisory locks; any fixed one does. */
export const STORAGE_LOCK = 1_431_193_415;
/** A power of two; few enough to lock all, many enough that workspaces seldom share one. */
export const STRIPES_COUNT = 64;

/**
 * Until the commit no other transaction stores events of the rows' workspaces. So times of storage ascend from commit to commit, and two
 * transactions that store the same events, or update the same counts, cannot deadlock.
 */
export const lockStripes = (rows: string): string => `
  SELECT pg_advisory_xact_lock(${STORAGE_LOCK}, stripe)
  FROM (SELECT DISTINCT hashtext(workspace_id) & ${STRIPES_COUNT - 1} AS stripe FROM ${rows} ORDER BY 1) AS touched`;

/** Waiting readers hold connections of the shared pool, so their number is small. */
const WAITS_MAX = 3;
const WAITING_MAX = 1000;

/** For readers that must not miss what is being stored. */
export class StorageBarrier {
  private readonly sql: Transaction;
  private readonly limit = createSemaphore({
    runningMax: WAITS_MAX,
    waitingMax: WAITING_MAX,
    refuse: 'Too many readers wait for events that are being stored',
  });
  /** Waits in the queue of the semaphore, which a new reader can share. */
  private readonly queued = new Map<string, Promise<void>>();

  constructor(sql: Transaction) {
    this.sql = sql;
  }

  /**
   * Resolves when all transactions in progress for the workspace are committed or rolled back. Later commits have a later
   * time than the call. Throws 503 when too many readers wait.
   */
  wait(workspaceId: string): Promise<void> {
    const shared = this.queued.get(workspaceId);
    if (shared !== undefined) return shared;
    const wait = this.limit.run(async () => {
      this.queued.delete(workspaceId);
      await this
        .sql`SELECT pg_advisory_xact_lock_shared(${STORAGE_LOCK}, hashtext(${workspaceId}) & ${STRIPES_COUNT - 1})`;
    });
    this.queued.set(workspaceId, wait);
    // A refused wait never begins.
    wait.catch(() => this.queued.delete(workspaceId));
    return wait;
  }
}
