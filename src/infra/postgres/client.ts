/** The pool of connections to the database. */
import { connect, type Socket } from 'node:net';
import { type DiskFault, diskFaultOf } from '../../core/disk-fault.ts';
import { codeOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { Semaphore } from '../../core/semaphore.ts';
import { until } from '../../core/wait.ts';
import { type Host, parseAddress } from './address.ts';
import type { JsonCodec } from './column-types.ts';
import { connectTo, Primary } from './primary.ts';
import { openClient, Session, type SessionOptions } from './session.ts';
import { createTag, type Query, type Transaction } from './tag.ts';
import { ConnectionLost, DatabaseTimeout, isConnectionLost, READ_ONLY } from './unavailable.ts';

export { cancelledBy, type Fragment, type Transaction } from './tag.ts';
export { explainOutage, isUnavailable, predicateOf, withDeadline } from './unavailable.ts';

export type ClientOptions = {
  /** As `parseAddress` reads it. */
  url: string;
  applicationName: string;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Default 15. At most half of them run transactions. */
  connectionsMax?: number;
  /** Statements that wait for a connection (default 10,000); more are refused. */
  waitingMax?: number;
  /** Statements of a connection, after which it is replaced: the server keeps each form of a statement prepared for as long. */
  statementsMax?: number;
  /** How long the server lets a statement run (default 10 s); 0: no limit, neither there nor here. */
  statementTimeoutMs?: number;
  /** Codec of json and jsonb columns, if not `JSON`. */
  json?: JsonCodec;
  /** Settings of every session, beside ours. */
  settings?: Record<string, string>;
};

export type ReserveOptions = {
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

/** What `use` tells. */
export type PoolUse = ReturnType<Pool['use']>;

export type Sql = ReturnType<typeof connectPostgres>;

/** A setting of every session, to see whether it keeps its settings; PostgreSQL takes any with a dot in its name. */
export const SESSION_MARK = 'atrium.session';

const CONNECTIONS_MAX = 15;
const WAITING_MAX = 10_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Time beyond the server's own limit, within which a healthy server answers. */
const ANSWER_GRACE_MS = 1_000;
/**
 * Bounds the locks of a process that hangs: a transaction waits only for the database. It is shorter than the limit of a statement,
 * so that whoever waits for such a lock is still answered.
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 8_000;
/** Within which a host has to say whether it takes writes. */
const LOOK_TIMEOUT_MS = 4_000;
const IDLE_TIMEOUT_MS = 300_000;
const LIFETIME_MS = 3_600_000;
const END_TIMEOUT_SECONDS = 5;

/**
 * Connects lazily: the first statement opens the first connection.
 *
 * Every statement ends for its caller within `statementTimeoutMs` + 1 s, the wait for a connection included, also when the
 * server hangs; `isUnavailable` recognises these errors. After an outage the next statement succeeds. Sessions are in UTC;
 * bigint columns are numbers where exact; notices are not logged.
 */
export function connectPostgres(options: ClientOptions) {
  const pool = new Pool(options);
  return Object.assign(pool.sql, {
    /** Runs `run` in a transaction, which is committed when it resolves and rolled back when it rejects. */
    begin: <T>(run: (tx: Transaction) => Promise<T>): Promise<T> => pool.begin(run),
    /** A connection of its own, opened by its first statement; it is not reconnected, and refuses statements once lost. */
    reserve: (reserve: ReserveOptions = {}): Reserved => pool.reserve(reserve),
    /** What the server's disk does, where statements failed for it; tried again by each call. Rejects where the database is away. */
    diskFault: (): Promise<DiskFault | undefined> => pool.probeDisk(),
    /** Connections that run statements, the most that are opened, and callers that wait for one. */
    use: () => pool.use(),
    /** Closes the pool; statements that still run after `timeout` seconds (default 5) are cut off. */
    end: ({ timeout = END_TIMEOUT_SECONDS }: { timeout?: number } = {}): Promise<void> => pool.end(timeout),
  });
}

class Pool {
  readonly sql: Transaction;
  private readonly options: ClientOptions;
  private readonly url: string;
  private readonly hosts: readonly Host[];
  private readonly open: () => Promise<Socket>;
  private readonly serverTimeoutMs: number;
  private readonly timeoutMs: number;
  private readonly connectionsMax: number;
  private readonly connections: Semaphore;
  private readonly transactions: Semaphore;
  private readonly idle: Session[] = [];
  private readonly busy = new Set<Session>();
  /** Aborts for all that wait for a connection when one is lost. */
  private waiting = new AbortController();
  private isAvailable = true;
  private isEnded = false;
  private disk: DiskFault | undefined;
  private probing: Promise<DiskFault | undefined> | undefined;

  constructor(options: ClientOptions) {
    const { statementTimeoutMs = STATEMENT_TIMEOUT_MS, connectionsMax = CONNECTIONS_MAX } = options;
    const { waitingMax = WAITING_MAX } = options;
    this.options = options;
    const address = parseAddress(options.url);
    if (address === undefined) throw new Error('The address of the database is no postgres:// URL');
    this.url = address.url;
    this.hosts = address.candidates;
    this.serverTimeoutMs = statementTimeoutMs;
    this.timeoutMs = statementTimeoutMs > 0 ? statementTimeoutMs + ANSWER_GRACE_MS : 0;
    this.connectionsMax = connectionsMax;
    const bounds = {
      waitingMax,
      waitMsMax: this.timeoutMs || undefined,
      refuse: (why: 'full' | 'late') =>
        why === 'late' ? new DatabaseTimeout(this.timeoutMs) : new TooManyWaiting(waitingMax),
    };
    this.connections = new Semaphore({ ...bounds, runningMax: connectionsMax });
    this.transactions = new Semaphore({ ...bounds, runningMax: Math.ceil(connectionsMax / 2) });
    const template = openClient({ ...options, url: this.url, settings: {} }, { socket: () => this.open() });
    this.open = this.hosts.length > 0 ? () => this.findPrimary().open() : () => connectAs(template.options);
    this.sql = createTag(template, (query) => void this.run(query));
  }

  use(): { busy: number; max: number; waiting: number } {
    const { running: busy, waiting } = this.connections.metrics();
    return { busy, max: this.connectionsMax, waiting: waiting + this.transactions.metrics().waiting };
  }

  async begin<T>(run: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.transactions.acquire(this.waiting.signal);
    try {
      return await this.withSession(async ({ sql }) => {
        await sql.unsafe('begin');
        let result: T;
        try {
          result = await run(sql);
        } catch (error) {
          await sql.unsafe('rollback').catch(() => undefined);
          throw error;
        }
        const { command } = await sql.unsafe('commit');
        if (command !== 'COMMIT')
          throw new Error('The transaction was rolled back: a statement of it had failed');
        return result;
      });
    } finally {
      this.transactions.release();
    }
  }

  reserve({ unlimited = false, idleTimeoutMs, onNotification, onLost }: ReserveOptions): Reserved {
    const settings = idleTimeoutMs === undefined ? {} : { idle_session_timeout: `${idleTimeoutMs}` };
    const session = this.newSession({
      settings: { ...this.settings(unlimited ? 0 : this.serverTimeoutMs), ...settings },
      timeoutMs: unlimited ? 0 : this.timeoutMs,
      onNotification,
      onLost,
    });
    return Object.assign(session.sql, { release: () => void session.end(0) });
  }

  probeDisk(): Promise<DiskFault | undefined> {
    if (this.disk === undefined) return Promise.resolve(undefined);
    this.probing ??= this.spillRows().finally(() => {
      this.probing = undefined;
    });
    return this.probing;
  }

  async end(timeoutSeconds: number): Promise<void> {
    this.isEnded = true;
    this.refuseWaiting(new ConnectionLost('The connections to the database have been closed'));
    const closed = this.idle.splice(0).map((session) => session.end(1));
    const isIdle = () => this.busy.size === 0;
    await until(isIdle, { everyMs: 5, timeoutMs: timeoutSeconds * 1000 });
    await Promise.all([...closed, ...[...this.busy].map((session) => session.end(0))]);
  }

  private async run(query: Query): Promise<void> {
    const leave = (): void => query.reject(query.signal?.reason);
    if (query.signal?.aborted === true) return leave();
    query.signal?.addEventListener('abort', leave, { once: true });
    try {
      await this.withSession((session) => session.run(query));
    } catch (error) {
      query.reject(error);
    } finally {
      query.signal?.removeEventListener('abort', leave);
    }
  }

  private async withSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
    await this.connections.acquire(this.waiting.signal);
    const session = this.idle.pop() ?? this.openSession();
    this.busy.add(session);
    try {
      if (this.isEnded) throw new ConnectionLost('The connections to the database have been closed');
      return await work(session);
    } finally {
      this.busy.delete(session);
      this.putBack(session);
      this.connections.release();
    }
  }

  private putBack(session: Session): void {
    const { statementsMax = Number.POSITIVE_INFINITY } = this.options;
    const now = performance.now();
    if (session.closed !== undefined) return;
    if (this.isEnded || session.statements >= statementsMax || now - session.openedAt > LIFETIME_MS)
      void session.end(1);
    else this.idle.push(session);
    // Those below are used the least.
    if (now - (this.idle[0]?.usedAt ?? now) > IDLE_TIMEOUT_MS) void this.idle.shift()?.end(1);
  }

  private openSession(): Session {
    const settings = { ...this.settings(this.serverTimeoutMs), ...this.options.settings };
    const session = this.newSession({
      settings,
      timeoutMs: this.timeoutMs,
      onLost: (error) => {
        const at = this.idle.indexOf(session);
        if (at >= 0) this.idle.splice(at, 1);
        // An idle session may end for any reason.
        else this.noteOutage(error);
      },
    });
    return session;
  }

  private newSession(
    own: Pick<SessionOptions, 'settings' | 'timeoutMs' | 'onNotification' | 'onLost'>,
  ): Session {
    const { json } = this.options;
    return new Session({
      url: this.url,
      json,
      open: this.open,
      onAnswer: this.noteAnswer,
      isLost: this.isLost,
      ...own,
    });
  }

  /** Numbers are text here, because postgres.js would leave out 0, which means no limit. */
  private settings(statementTimeoutMs: number): Record<string, string> {
    return {
      application_name: this.options.applicationName,
      [SESSION_MARK]: 'kept',
      TimeZone: 'UTC',
      statement_timeout: `${statementTimeoutMs}`,
      idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
    };
  }

  /** Of several hosts one that has become read-only is left, too. */
  private readonly isLost = (error: unknown): boolean =>
    isConnectionLost(error) || (this.hosts.length > 0 && codeOf(error) === READ_ONLY);

  private readonly noteAnswer = (error: Error | undefined): void => {
    this.disk = (error && diskFaultOf(error)) ?? this.disk;
    if (!this.isAvailable) this.options.log.info({}, 'the database is available again');
    this.isAvailable = true;
  };

  private noteOutage(error: Error): void {
    if (this.isAvailable && !this.isEnded)
      this.options.log.warn({ err: error }, 'the database is unavailable');
    this.isAvailable = false;
    this.refuseWaiting(error);
  }

  /** They would meet the same, one after the other. */
  private refuseWaiting(error: Error): void {
    const { waiting } = this;
    this.waiting = new AbortController();
    waiting.abort(error);
  }

  /** The server keeps so many rows in a temporary file where it may use but this much memory. */
  private async spillRows(): Promise<DiskFault | undefined> {
    try {
      await this.begin(async (tx) => {
        await tx`SELECT set_config('work_mem', '64kB', true)`;
        await tx`SELECT count(*) FROM generate_series(1, 20000)`;
      });
      this.disk = undefined;
    } catch (error) {
      if (diskFaultOf(error) === undefined) throw error;
      this.disk = diskFaultOf(error);
    }
    return this.disk;
  }

  /** Pools of one address look together, and leave a former primary together. */
  private findPrimary(): Primary {
    const known = primaries.get(this.options.url);
    if (known !== undefined) return known;
    const primary = new Primary(this.hosts, async (host) => {
      const open = async () => connectTo(host);
      const look = { url: this.url, open, settings: this.settings(0), timeoutMs: LOOK_TIMEOUT_MS };
      const session = new Session({ ...look, isLost: isConnectionLost });
      try {
        const [row] = await session.sql`SELECT current_setting('transaction_read_only') AS state`;
        return row?.['state'] === 'off';
      } finally {
        void session.end(0);
      }
    });
    primaries.set(this.options.url, primary);
    return primary;
  }
}

const primaries = new Map<string, Primary>();

async function connectAs({
  host,
  port,
  path,
}: {
  host: string[];
  port: number[];
  path?: unknown;
}): Promise<Socket> {
  if (typeof path === 'string') return connect(path);
  return connectTo({ host: host[0] ?? '', port: port[0] ?? 0 });
}

class TooManyWaiting extends Error {
  /** Of PostgreSQL: insufficient resources. */
  readonly code = '53000';

  constructor(waitingMax: number) {
    super(`More than ${waitingMax} statements wait for the database`);
  }
}
