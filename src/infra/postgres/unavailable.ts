// Distinguishes an outage of the database from an error of a statement.

import { codeOf, type ServiceError, unavailable } from '../../core/errors.ts';
import { within } from '../../core/wait.ts';

/** Codes of postgres.js, and those of the server at a shutdown or after a crash. */
const CONNECTION_CODES = new Set(
  'CONNECTION_CLOSED CONNECTION_DESTROYED CONNECTION_ENDED CONNECT_TIMEOUT 57P01 57P02'.split(' '),
);
/** Codes of the system, which errors of other clients also have. */
const SOCKET_CODES = new Set(
  'EAI_AGAIN ECONNABORTED ECONNREFUSED ECONNRESET EHOSTUNREACH ENETDOWN ENETUNREACH ENOTFOUND EPIPE ETIMEDOUT'.split(
    ' ',
  ),
);
const databaseErrors = new WeakSet<Error>();

const STATEMENT_TIMEOUT = '57014';
/** A statement that a standby, or a server that is only for reading, refuses. */
export const READ_ONLY = '25006';
/** Of PostgreSQL (appendix A): idle in a transaction for too long, starting up or shutting down, idle for too long. */
const SERVER_CODES = new Set([READ_ONLY, STATEMENT_TIMEOUT, '25P03', '57P03', '57P05']);
/** Insufficient resources (connections, disk, memory), and system errors. */
const EXHAUSTED = /^(?:53|58)...$/;
const CONNECTION_EXCEPTION = /^08...$/;

/** The database did not answer in time. The statement may still take effect. */
export class DatabaseTimeout extends Error {
  readonly code = 'DATABASE_TIMEOUT';

  constructor(timeoutMs: number) {
    super(`The database did not answer within ${timeoutMs} ms`);
    this.name = 'DatabaseTimeout';
  }
}

/** There is no connection, or it was lost. */
export class ConnectionLost extends Error {
  readonly code = 'CONNECTION_CLOSED';

  constructor(message = 'The connection to the database was lost') {
    super(message);
    this.name = 'ConnectionLost';
  }
}

export class TooManyWaiting extends Error {
  /** Of PostgreSQL: insufficient resources. */
  readonly code = '53000';

  constructor(waitingMax: number) {
    super(`More than ${waitingMax} statements wait for the database`);
  }
}

/** Remembers that the error came from the database client. */
export function markDatabaseError(error: unknown): void {
  if (error instanceof Error) databaseErrors.add(error);
}

/** Whether the cause is the state of the database and not the statement, so that the same call may succeed later. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  return (
    error instanceof DatabaseTimeout ||
    isConnectionLost(error) ||
    isExhausted(error) ||
    SERVER_CODES.has(code) ||
    CONNECTION_EXCEPTION.test(code)
  );
}

/** The 503 of an outage of the database; undefined for other errors. */
export const explainOutage = (error: unknown): ServiceError | undefined =>
  isUnavailable(error) ? unavailable(`The database ${predicateOf(error)}`, { cause: error }) : undefined;

/** What the database does in an outage, behind "The database" or "it". */
export function predicateOf(error: unknown): string {
  const code = codeOf(error);
  if (error instanceof DatabaseTimeout || code === STATEMENT_TIMEOUT) return 'did not answer in time';
  if (code === READ_ONLY) return 'is read-only';
  return isExhausted(error) ? 'lacks the resources to answer' : 'cannot be reached';
}

/** An error of the server's file system has the same code as a missing privilege of a role. */
const isExhausted = (error: unknown): boolean =>
  EXHAUSTED.test(codeOf(error)) ||
  (codeOf(error) === '42501' &&
    error instanceof Error &&
    /: (Read-only file system|Permission denied)$/.test(error.message));

/** Whether the connection of the error was lost, or none could be opened. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  const fromSocket = SOCKET_CODES.has(code) && error instanceof Error && databaseErrors.has(error);
  return fromSocket || CONNECTION_CODES.has(code);
}

/** Waits at most `timeoutMs`, then rejects (by default with `DatabaseTimeout`). The work is not cancelled. */
export const withDeadline = <T>(
  work: PromiseLike<T>,
  timeoutMs: number,
  timeoutError: () => Error = () => new DatabaseTimeout(timeoutMs),
): Promise<T> =>
  within<T, never>(work, timeoutMs, () => {
    throw timeoutError();
  });
