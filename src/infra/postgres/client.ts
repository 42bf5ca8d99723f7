/** The database client: postgres.js, with a time-out on every wait, and recovery from outages. */
import postgres from 'postgres';
import { codeOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { type Address, parseAddress } from './address.ts';
import { arrayOids, columnTypes, type JsonCodec } from './column-types.ts';
import { createDiskWatch, type DiskWatch } from './disk-watch.ts';
import { createPool, type Generation, type PoolUse } from './pool.ts';
import { createPrimary, type Primary } from './primary.ts';
import { openReserved, type Reserved, type ReserveOptions } from './reserved.ts';
import { sqlWithTimeout, type Transaction } from './sql-with-timeout.ts';
import { transact } from './transaction.ts';
import { type DatabaseTimeout, isConnectionLost, withDeadline } from './unavailable.ts';

export { cancelledBy } from './cancelled-by.ts';
export type { PoolUse } from './pool.ts';
export type { Reserved } from './reserved.ts';
export type { Transaction } from './sql-with-timeout.ts';
export { explainOutage, isUnavailable, predicateOf, withDeadline } from './unavailable.ts';

/** A piece of a statement, with its parameters. */
export type Fragment = ReturnType<Transaction['unsafe']>;

export type Sql = Transaction & {
  /** Runs `run` in a transaction; `transact` says what it rejects with. */
  begin: <T>(run: (tx: Transaction) => Promise<T>) => Promise<T>;
  /** A connection outside the pool, opened by its first statement; it is not reconnected, and refuses statements once lost. */
  reserve: (options?: ReserveOptions) => Reserved;
  /** What the server's disk does, as `DiskWatch` says. */
  diskFault: DiskWatch['fault'];
  use: () => PoolUse;
  /** Closes the pool; statements that still run after `timeout` seconds (default 5) are cut off. */
  end: (options?: { timeout?: number }) => Promise<void>;
};

export type ClientOptions = {
  /** As `parseAddress` reads it. */
  url: string;
  applicationName: string;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Default 10. */
  connectionsMax?: number;
  /** Statements that run or wait at once (default 10,000); more are refused. */
  pendingMax?: number;
  /** Whether callers determine the form of statements: few of them are prepared then. */
  manyForms?: boolean;
  /** How long the server lets a statement run (default 10 s); 0: no limit, neither there nor here. */
  statementTimeoutMs?: number;
  /** Codec of json and jsonb columns, if not `JSON`. */
  json?: JsonCodec;
  /** Settings of every session, beside ours. */
  settings?: Record<string, string>;
};

/** A setting of every session, to see whether it keeps its settings; PostgreSQL takes any with a dot in its name. */
export const SESSION_MARK = 'atrium.session';

const CONNECTIONS_MAX = 10;
const PENDING_MAX = 10_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Time beyond the server's own limit, within which a healthy server answers. */
const ANSWER_GRACE_MS = 1_000;
/** Statements that are pipelined on a busy connection; a small number, because each waits for those before it. */
const PIPELINE_MAX = 8;
/**
 * Transactions have their own connections: postgres.js 3.4 does not reserve a connection whose BEGIN is the last statement
 * of its pipeline (`onexecute` in its connection.js), so that other statements would join the transaction.
 */
const TRANSACTIONS_MAX = 5;
const PIPELINE_OF_TRANSACTIONS = 100;
const CONNECT_TIMEOUT_SECONDS = 4;
/** Within which a host has to say whether it takes writes. */
const LOOK_TIMEOUT_MS = 4_000;
const IDLE_TIMEOUT_SECONDS = 300;
const KEEP_ALIVE_SECONDS = 30;
/**
 * Bounds the locks of a process that hangs: a transaction waits only for the database. It is shorter than the limit of a statement,
 * so that whoever waits for such a lock is still answered.
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 8_000;
const RECONNECT_SECONDS = 0.05;
const END_TIMEOUT_SECONDS = 5;
/** PostgreSQL's code of a statement that a standby, or a server that is only for reading, refuses. */
const READ_ONLY = '25006';

/**
 * Connects lazily: the first statement opens the first connection.
 *
 * Every statement ends for its caller within `statementTimeoutMs` + 1 s, the wait for a connection included, also when the
 * server hangs; `isUnavailable` recognises these errors. After an outage the next statement succeeds. Sessions are in UTC;
 * bigint columns are numbers where exact; notices are not logged.
 */
export function connectPostgres(options: ClientOptions): Sql {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const timeoutMs = statementTimeoutMs > 0 ? statementTimeoutMs + ANSWER_GRACE_MS : 0;
  const { url, candidates } = addressOf(options.url);
  const ownSocket = candidates.length === 0 ? {} : { socket: findPrimary(options, url, candidates).connect };
  const connect = (differences: object) =>
    openPostgres(url, { ...connectionOptions(options), ...ownSocket, ...differences });
  /** If the server has become read-only, connections move to the server that takes writes. */
  const isLost = (error: unknown): boolean =>
    isConnectionLost(error) || (candidates.length > 0 && codeOf(error) === READ_ONLY);
  const session = { ...sessionSettings(options.applicationName, statementTimeoutMs), ...options.settings };
  const { connectionsMax = CONNECTIONS_MAX } = options;
  const transactionsMax = Math.min(TRANSACTIONS_MAX, connectionsMax);
  const disk = createDiskWatch((run) => begin(pool.current(), run, timeoutMs));
  const pool = createPool({
    connect: () => connect({ connection: session }),
    connectForTransactions: () =>
      connect({ connection: session, max: transactionsMax, max_pipeline: PIPELINE_OF_TRANSACTIONS }),
    connectionsMax,
    transactionsMax,
    log: options.log,
    isLost,
    onServerError: disk.onFailure,
    timeoutMs,
    pendingMax: options.pendingMax ?? PENDING_MAX,
    manyForms: options.manyForms ?? false,
  });
  return Object.assign(sqlWithTimeout(pool.current), {
    begin: <T>(run: (tx: Transaction) => Promise<T>) => begin(pool.current(), run, timeoutMs),
    reserve: (reserveOptions: ReserveOptions = {}) => {
      const connection = {
        ...sessionSettings(options.applicationName, reserveOptions.unlimited ? 0 : statementTimeoutMs),
        ...idleLimit(reserveOptions.idleTimeoutMs),
      };
      return openReserved({
        connect: (own) => connect({ connection, ...own }),
        options: reserveOptions,
        isLost,
        timeoutMs,
      });
    },
    diskFault: disk.fault,
    use: pool.use,
    end: ({ timeout = END_TIMEOUT_SECONDS } = {}) => pool.end(timeout),
  });
}

function addressOf(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw new Error('The address of the database is no postgres:// URL');
  return address;
}

/** By address: pools of one address look together, and leave a former primary together. */
const primaries = new Map<string, Primary>();

/** Each look is a connection of its own to each of the hosts, which is destroyed, because a host that hangs would keep it. */
function findPrimary(options: ClientOptions, url: string, candidates: Address['candidates']): Primary {
  const known = primaries.get(options.url);
  if (known !== undefined) return known;
  const primary = createPrimary(candidates, async (socket) => {
    const own: object = { connection: sessionSettings(options.applicationName, 0), socket };
    const sql = openPostgres(url, { ...connectionOptions(options), max: 1, ...own });
    try {
      const asked = sql<{ state: string }[]>`SELECT current_setting('transaction_read_only') AS state`;
      const [row] = await withDeadline(asked, LOOK_TIMEOUT_MS);
      return row?.state !== 'off';
    } finally {
      void sql.end({ timeout: 0 });
    }
  });
  primaries.set(options.url, primary);
  return primary;
}

function openPostgres(
  url: string,
  options: postgres.Options<Record<string, postgres.PostgresType>>,
): postgres.Sql {
  const sql = postgres(url, options);
  // The map that `fetch_types` would fill.
  const { shared } = sql.options as unknown as { shared: { typeArrayMap: Record<string, number> } };
  Object.assign(shared.typeArrayMap, arrayOids);
  return sql;
}

function connectionOptions(options: ClientOptions) {
  return {
    max: options.connectionsMax ?? CONNECTIONS_MAX,
    connect_timeout: CONNECT_TIMEOUT_SECONDS,
    idle_timeout: IDLE_TIMEOUT_SECONDS,
    keep_alive: KEEP_ALIVE_SECONDS,
    max_pipeline: PIPELINE_MAX,
    backoff: () => RECONNECT_SECONDS,
    fetch_types: false,
    types: columnTypes(options.json),
    onnotice: () => {},
  };
}

/** Numbers are text here, because postgres.js would leave out 0, which means no limit. */
function sessionSettings(applicationName: string, statementTimeoutMs: number) {
  return {
    application_name: applicationName,
    [SESSION_MARK]: 'kept',
    TimeZone: 'UTC',
    statement_timeout: `${statementTimeoutMs}`,
    idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
  };
}

const idleLimit = (timeoutMs: number | undefined) =>
  timeoutMs === undefined ? {} : { idle_session_timeout: `${timeoutMs}` };

function begin<T>(
  generation: Generation,
  run: (tx: Transaction) => Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const { statementTimeout, transactions } = generation;
  return transact<Transaction, T>({
    ...transactions,
    begin: (work) => generation.begin(work),
    wrap: (tx, { refusal, onLost }) => {
      const onFailure = (error: unknown) => {
        if (isConnectionLost(error)) onLost(error);
        transactions.onFailure(error);
      };
      const onSilence = (error: DatabaseTimeout) => {
        onLost(error);
        transactions.onSilence(error);
      };
      const { onAnswer } = statementTimeout;
      return sqlWithTimeout(() => ({
        sql: tx,
        statementTimeout: { timeoutMs, refusal, onAnswer, onFailure, onSilence },
      }));
    },
    run,
    timeoutMs,
  });
}
