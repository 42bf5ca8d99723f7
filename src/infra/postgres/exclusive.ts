/** Work that only one process does at a time: locks that end with the connection of a process. */
import { type Sql, type Transaction, withDeadline } from './client.ts';

/** A connection whose session locks are leases. */
export type Lease = ReturnType<typeof openLease>;

/** The idle time-out after which the server ends the session, and the number of keep-alive statements within it. */
const LEASE_MS = 15_000;
const KEEP_ALIVES_IN_LEASE = 3;

/**
 * Opens a connection that the server closes after `leaseMs` without a statement, so that the locks of a process that was
 * killed, that hangs, or that has lost its network become free.
 */
function openLease(sql: Sql, leaseMs = LEASE_MS) {
  const lost = new AbortController();
  const lose = (): void => lost.abort(new LeaseLost());
  const connection = sql.reserve({ idleTimeoutMs: leaseMs, onLost: lose });
  let heardAt = performance.now();
  const keepAlive = async (): Promise<void> => {
    // The server's time-out begins after this moment.
    const sentAt = performance.now();
    await withDeadline(connection`SELECT`, leaseMs);
    heardAt = sentAt;
  };
  const timer = setInterval(() => void keepAlive().catch(lose), leaseMs / KEEP_ALIVES_IN_LEASE);
  return {
    connection,
    /** Aborts when the connection is lost, and its locks with it. */
    signal: lost.signal,
    /** Throws once another process may hold the locks; after a pause of this process, also before it notices the loss. */
    assert(): void {
      if (performance.now() - heardAt >= leaseMs) lose();
      lost.signal.throwIfAborted();
    },
    /** Ends the connection, and the locks with it. */
    release(): void {
      clearInterval(timer);
      connection.release();
    },
  };
}

/**
 * Runs work that only one process may do at a time; returns `held` at once, without running it, while another process does, or
 * while the server still keeps the connection of one that was killed. The lock is a lease: `run` should check it between its steps.
 */
export async function exclusively<T>(
  sql: Sql,
  name: string,
  run: (lease: Lease) => Promise<T>,
  leaseMs = LEASE_MS,
): Promise<T | 'held'> {
  // A look costs less than a connection.
  if (await isRunning(sql, name)) return 'held';
  const lease = openLease(sql, leaseMs);
  try {
    const [row] = await lease.connection<
      { held: boolean }[]
    >`SELECT pg_try_advisory_lock(hashtextextended(${name}, 0)) AS held`;
    return row?.held === true ? await run(lease) : 'held';
  } finally {
    await lease.connection`SELECT pg_advisory_unlock_all()`.catch(() => undefined);
    lease.release();
  }
}

/** Whether a process runs the work of `exclusively` at this moment. */
export async function isRunning(sql: Transaction, name: string): Promise<boolean> {
  const [row] = await sql<{ running: boolean }[]>`
    SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (classid::bigint << 32 | objid::bigint) = hashtextextended(${name}, 0)) AS running`;
  return row?.running === true;
}

class LeaseLost extends Error {
  constructor() {
    super('The database has not heard of this process for too long: its lock is free for others');
    this.name = 'LeaseLost';
  }
}
