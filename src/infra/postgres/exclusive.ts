import { type Reserved, type Sql, type Transaction, withDeadline } from './client.ts';

/** A connection whose session locks are leases. */
export type Lease = {
  connection: Reserved;
  /** Aborts when the connection is lost, and its locks with it. */
  signal: AbortSignal;
  /** Throws once another process may hold the locks; after a pause of this process, also before it notices the loss. */
  assert(): void;
  /** Aborts it, as the loss of the connection does. */
  lose(): void;
  release(): void;
};

/**
 * The idle time-out after which the server ends the session, and the number of keep-alive statements within it. It is long
 * enough for a busy machine.
 */
const LEASE_MS = 15_000;
const KEEP_ALIVES_IN_LEASE = 3;

/**
 * Opens a connection that the server closes after `leaseMs` without a statement, so that the locks of a process that was
 * killed, that hangs, or that has lost its network become free.
 */
function openLease(sql: Sql, leaseMs = LEASE_MS): Lease {
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
    signal: lost.signal,
    assert() {
      if (performance.now() - heardAt >= leaseMs) lose();
      lost.signal.throwIfAborted();
    },
    lose,
    release() {
      clearInterval(timer);
      connection.release();
    },
  };
}

/** A lease that works of one client have in common: a connection for each of them would cost more than most of them do. */
type Shared = { lease: Lease; leaseMs: number; names: Set<string> };

const sharedBy = new WeakMap<Sql, Shared>();

function openShared(sql: Sql, leaseMs: number): Shared {
  const open = sharedBy.get(sql);
  if (open?.leaseMs === leaseMs && open.names.size > 0 && !open.lease.signal.aborted) return open;
  const opened = { lease: openLease(sql, leaseMs), leaseMs, names: new Set<string>() };
  sharedBy.set(sql, opened);
  return opened;
}

/**
 * Runs work that only one process may do at a time; returns `held` at once, without running it, while another process does, or
 * while the server still keeps the connection of one that was killed. The lock is a lease: `run` should check it between its steps. The
 * connection of the lease is for statements of a moment, because other works have their leases by it, too.
 */
export async function exclusively<T>(
  sql: Sql,
  name: string,
  run: (lease: Lease) => Promise<T>,
  leaseMs = LEASE_MS,
): Promise<T | 'held'> {
  const { lease, names } = openShared(sql, leaseMs);
  // The server grants a session a lock that it has.
  if (names.has(name)) return 'held';
  names.add(name);
  let isHeld = false;
  try {
    const [row] = await lease.connection<
      { held: boolean }[]
    >`SELECT pg_try_advisory_lock(hashtextextended(${name}, 0)) AS held`;
    isHeld = row?.held === true;
    return isHeld ? await run(lease) : 'held';
  } finally {
    names.delete(name);
    // The locks end with the connection; while others need it, this one ends before any later statement of this process.
    if (names.size === 0) lease.release();
    else if (isHeld)
      lease.connection`SELECT pg_advisory_unlock(hashtextextended(${name}, 0))`.catch(lease.lose);
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
