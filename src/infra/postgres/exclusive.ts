import { type Reserved, type Sql, withDeadline } from './client.ts';

/** A connection whose session locks are leases. */
export type Lease = {
  connection: Reserved;
  /** Aborts when the connection is lost, and its locks with it. */
  signal: AbortSignal;
  /** Throws once the locks may be another's: in a process that stood still, even before it hears of the loss. */
  assert(): void;
  release(): void;
};

/**
 * How long the server waits for a sign of life before it ends the session, and how often one is sent. A busy machine
 * does not come near it.
 */
const LEASE_MS = 15_000;
const SIGNS_IN_LEASE = 3;

/**
 * Opens a connection that the server closes when nothing has been heard over it for `leaseMs`: so the locks of a process
 * that was killed, that hangs, or whose machine is gone become free.
 */
export function openLease(sql: Sql, leaseMs = LEASE_MS): Lease {
  const lost = new AbortController();
  const lose = (): void => lost.abort(new LeaseLost());
  const connection = sql.reserve({ idleTimeoutMs: leaseMs, onLost: lose });
  let heardAt = performance.now();
  const giveSign = async (): Promise<void> => {
    // The server counts from a moment after this.
    const sentAt = performance.now();
    await withDeadline(connection`SELECT`, leaseMs);
    heardAt = sentAt;
  };
  const timer = setInterval(() => void giveSign().catch(lose), leaseMs / SIGNS_IN_LEASE);
  return {
    connection,
    signal: lost.signal,
    assert() {
      if (performance.now() - heardAt >= leaseMs) lose();
      lost.signal.throwIfAborted();
    },
    release() {
      clearInterval(timer);
      connection.release();
    },
  };
}

/**
 * Runs something that only one process may do at a time; returns at once, without running it, while another does.
 * The lock is a lease, and lives at most as long as its connection, which is closed at the end: `run` should look at it
 * between its steps.
 */
export async function exclusively(
  sql: Sql,
  name: string,
  run: (lease: Lease) => Promise<void>,
  leaseMs?: number,
): Promise<void> {
  const lease = openLease(sql, leaseMs);
  try {
    const [row] = await lease.connection<
      { held: boolean }[]
    >`SELECT pg_try_advisory_lock(hashtextextended(${name}, 0)) AS held`;
    if (row?.held === true) await run(lease);
  } finally {
    // The lock goes with the connection.
    lease.release();
  }
}

class LeaseLost extends Error {
  constructor() {
    super('The database has not heard of this process for too long: its lock is free for others');
    this.name = 'LeaseLost';
  }
}
