/** The pool of connections to the database. */
import { type DiskFault, diskFaultOf } from '../../core/disk-fault.ts';
import { codeOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { Semaphore } from '../../core/semaphore.ts';
import { until } from '../../core/wait.ts';
import type { JsonCodec } from './column-types.ts';
import { findServer } from './primary.ts';
import { openClient, Session, type SessionOptions } from './session.ts';
import { createTag, type Query, type Transaction } from './tag.ts';
import {
  ConnectionLost,
  DatabaseTimeout,
  isConnectionLost,
  READ_ONLY,
  TooManyWaiting,
} from './unavailable.ts';

export { cancelledBy, type Fragment, type Transaction } from './tag.ts';
export { explainOutage, isUnavailable, predicateOf, withDeadline } from './unavailable.ts';

export type ClientOptions = {
  /** As `parseAddress` reads it. */
  url: string;
  applicationName: string;
  log: Pick<Logger, 'info' | 'warn'>;
  /** At most half of them run transactions. */
  connectionsMax?: number;
  /** Statements that wait for a connection; more are refused. */
  waitingMax?: number;
  /** Statements of a connection, after which it is replaced: the server keeps each form of a statement prepared for as long. */
  statementsMax?: number;
  /** How long the server lets a statement run; 0: no limit, neither there nor here. */
  statementTimeoutMs?: number;
  /** Codec of json and jsonb columns, if not `JSON`. */
  json?: JsonCodec;
  /** Settings of every session, beside ours. */
  settings?: Record<string, string>;
};

type ReserveOptions = {
  /** Statements have no time-out. */
  unlimited?: boolean;
  /** Idle time-out after which the server closes the connection; default: none. */
  idleTimeoutMs?: number;
  /** A notification of a channel that the connection listens to. */
  onNotification?: (channel: string, payload: string) => void;
  /** The connection was lost; not called after `release`. */
  onLost?: () => void;
};

/** A connection outside the pool, for state that belongs to a session. `release` closes it. */
export type Reserved = Transaction & { release: () => void };

export type Sql = ReturnType<typeof connectPostgres>;

/** A setting of every session, to see whether it keeps its settings; PostgreSQL takes any with a dot in its name. */
export const SESSION_MARK = 'atrium.session';

/** Time beyond the server's own limit, within which a healthy server answers. */
const ANSWER_GRACE_MS = 1_000;
/**
 * Bounds the locks of a process that hangs: a transaction waits only for the database. It is shorter than the limit of a statement,
 * so that callers that wait for such a lock are still answered.
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 8_000;
const IDLE_MS_MAX = 300_000;
const LIFETIME_MS_MAX = 3_600_000;
const CLOSED = 'The connections to the database have been closed';

/**
 * Connects lazily: the first statement opens the first connection. A connection serves one caller at a time.
 *
 * A statement waits for a connection for at most `statementTimeoutMs` + 1 s, and as long for its answer, also when the server
 * hangs; `isUnavailable` recognises these errors. When a connection is lost, callers that wait for one fail at once, and the next statement
 * opens one again. Sessions are in UTC; bigint columns are numbers where exact; notices are not logged.
 */
export function connectPostgres(options: ClientOptions) {
  const { connectionsMax = 15, waitingMax = 10_000, statementTimeoutMs = 10_000, log } = options;
  const { statementsMax = Number.POSITIVE_INFINITY } = options;
  const timeoutMs = statementTimeoutMs > 0 ? statementTimeoutMs + ANSWER_GRACE_MS : 0;
  const bounds = {
    waitingMax,
    waitMsMax: timeoutMs || undefined,
    refuse: (why: 'full' | 'late') =>
      why === 'late' ? new DatabaseTimeout(timeoutMs) : new TooManyWaiting(waitingMax),
  };
  const connections = new Semaphore({ ...bounds, runningMax: connectionsMax });
  const transactions = new Semaphore({ ...bounds, runningMax: Math.ceil(connectionsMax / 2) });
  const settings = sessionSettings(options.applicationName, statementTimeoutMs);
  const { url, hosts, open } = findServer(options.url, settings);
  const idle: Session[] = [];
  const busy = new Set<Session>();
  /** Aborts for all that wait for a connection. */
  let waiting = new AbortController();
  let isAvailable = true;
  let isEnded = false;
  let disk: DiskFault | undefined;

  const refuseWaiting = (error: Error): void => {
    const former = waiting;
    waiting = new AbortController();
    former.abort(error);
  };
  const noteOutage = (error: Error): void => {
    if (isAvailable && !isEnded) log.warn({ err: error }, 'the database is unavailable');
    isAvailable = false;
    refuseWaiting(error);
  };
  const onAnswer = (error: Error | undefined): void => {
    disk = (error && diskFaultOf(error)) ?? disk;
    if (!isAvailable) log.info({}, 'the database is available again');
    isAvailable = true;
  };
  /** Of several hosts one that has become read-only is left, too. */
  const isLost = (error: unknown): boolean =>
    isConnectionLost(error) || (hosts.length > 0 && codeOf(error) === READ_ONLY);
  const newSession = (own: Partial<SessionOptions>): Session =>
    new Session({ url, json: options.json, open, settings, timeoutMs, isLost, onAnswer, ...own });
  const openSession = (): Session => {
    const onLost = (error: Error): void => {
      const at = idle.indexOf(session);
      // An idle one may end for any reason.
      if (at < 0) noteOutage(error);
      else idle.splice(at, 1);
    };
    const session = newSession({ settings: { ...settings, ...options.settings }, onLost });
    return session;
  };
  const putBack = (session: Session): void => {
    const now = performance.now();
    const isSpent = session.statements >= statementsMax || now - session.openedAt > LIFETIME_MS_MAX;
    if (isEnded || isSpent) void session.end(1);
    if (session.closed === undefined) idle.push(session);
    // The first ones are used the least.
    if (now - (idle[0]?.usedAt ?? now) > IDLE_MS_MAX) void idle.shift()?.end(1);
  };
  const withSession = async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
    await connections.acquire(waiting.signal);
    const session = idle.pop() ?? openSession();
    busy.add(session);
    try {
      if (isEnded) throw new ConnectionLost(CLOSED);
      return await work(session);
    } finally {
      busy.delete(session);
      putBack(session);
      connections.release();
    }
  };
  const run = async (query: Query): Promise<void> => {
    const leave = (): void => query.reject(query.signal?.reason);
    if (query.signal?.aborted === true) return leave();
    query.signal?.addEventListener('abort', leave, { once: true });
    try {
      await withSession((session) => session.run(query));
    } catch (error) {
      query.reject(error);
    } finally {
      query.signal?.removeEventListener('abort', leave);
    }
  };
  /** Runs `work` in a transaction, which is committed when it resolves and rolled back when it rejects. */
  const begin = async <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => {
    await transactions.acquire(waiting.signal);
    try {
      return await withSession(({ sql }) => transact(sql, work));
    } finally {
      transactions.release();
    }
  };
  /**
   * What the server's disk does, where a statement failed for it. Over once the server can write a temporary file again, which is
   * tried by each call. Rejects where the database is away.
   */
  const diskFault = async (): Promise<DiskFault | undefined> => {
    if (disk === undefined) return undefined;
    try {
      await begin(spillRows);
      disk = undefined;
    } catch (error) {
      if (diskFaultOf(error) === undefined) throw error;
    }
    return disk;
  };
  /** A connection of its own, opened by its first statement; it is not reconnected, and refuses statements once lost. */
  const reserve = (own: ReserveOptions = {}): Reserved => {
    const { unlimited = false, idleTimeoutMs, onNotification, onLost } = own;
    const session = newSession({
      settings: {
        ...sessionSettings(options.applicationName, unlimited ? 0 : statementTimeoutMs),
        ...(idleTimeoutMs === undefined ? {} : { idle_session_timeout: `${idleTimeoutMs}` }),
      },
      timeoutMs: unlimited ? 0 : timeoutMs,
      onNotification,
      onLost,
    });
    return Object.assign(session.sql, { release: () => void session.end(0) });
  };

  const template = openClient({ url, json: options.json, settings });
  return Object.assign(
    createTag(template, (query) => void run(query)),
    {
      begin,
      reserve,
      diskFault,
      /** Connections that run statements, the most that are opened, and callers that wait for one. */
      use: () => ({
        busy: connections.metrics().running,
        max: connectionsMax,
        waiting: connections.metrics().waiting + transactions.metrics().waiting,
      }),
      /** Closes the pool; statements that still run after `timeout` seconds are cut off. */
      async end({ timeout = 5 }: { timeout?: number } = {}): Promise<void> {
        isEnded = true;
        refuseWaiting(new ConnectionLost(CLOSED));
        const closed = idle.splice(0).map((session) => session.end(1));
        await until(() => busy.size === 0, { everyMs: 5, timeoutMs: timeout * 1000 });
        await Promise.all([...closed, ...[...busy].map((session) => session.end(0))]);
      },
    },
  );
}

async function transact<T>(sql: Transaction, work: (tx: Transaction) => Promise<T>): Promise<T> {
  await sql.unsafe('begin');
  let result: T;
  try {
    result = await work(sql);
  } catch (error) {
    await sql.unsafe('rollback').catch(() => undefined);
    throw error;
  }
  const { command } = await sql.unsafe('commit');
  if (command !== 'COMMIT') throw new Error('The transaction was rolled back: a statement of it had failed');
  return result;
}

/** The server keeps so many rows in a temporary file where it may use but this much memory. */
async function spillRows(tx: Transaction): Promise<void> {
  await tx`SELECT set_config('work_mem', '64kB', true)`;
  await tx`SELECT count(*) FROM generate_series(1, 20000)`;
}

/** Numbers are text here, because postgres.js would leave out 0, which means no limit. */
const sessionSettings = (applicationName: string, statementTimeoutMs: number): Record<string, string> => ({
  application_name: applicationName,
  [SESSION_MARK]: 'kept',
  TimeZone: 'UTC',
  statement_timeout: `${statementTimeoutMs}`,
  idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
});
