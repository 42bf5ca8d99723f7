// Distinguishes an outage of the database from an error of a statement.

import { codeOf, type ServiceError, unavailable } from '../../core/errors.ts';
import { within } from '../../core/wait.ts';

/** Codes of postgres.js, and those of the server at a shutdown or after a crash. */
const CONNECTION_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  '57P01',
  '57P02',
]);

/** Codes of the system, which errors of other clients also have. */
const SOCKET_CODES = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
const databaseErrors = new WeakSet<Error>();

const STATEMENT_TIMEOUT = '57014';
const READ_ONLY = '25006';

/** Codes and classes of PostgreSQL (appendix A) for a server that exists but can't serve now. */
const SERVER_CODES = new Set([
  READ_ONLY, // after a failover
  '25P03', // idle in transaction for too long
  STATEMENT_TIMEOUT,
  '57P03', // starting up or shutting down
  '57P05', // idle session timeout
]);
const EXHAUSTED_CLASSES = new Set([
  '53', // insufficient resources: connections, disk, memory
  '58', // system error
]);
const SERVER_CLASSES = new Set([
  '08', // connection exception
  ...EXHAUSTED_CLASSES,
]);

/** The database did not answer in time. The statement may still take effect. */
export class DatabaseTimeout extends Error {
  readonly code = 'DATABASE_TIMEOUT';

  constructor(timeoutMs: number) {
    super(`The database did not answer within ${timeoutMs} ms`);
    this.name = 'DatabaseTimeout';
  }
}

/** The connection of the statement was lost before. */
export class ConnectionLost extends Error {
  readonly code = 'CONNECTION_CLOSED';

  constructor(options?: ErrorOptions) {
    super('The connection to the database was lost', options);
    this.name = 'ConnectionLost';
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
    isRefusedByDisk(error) ||
    SERVER_CODES.has(code) ||
    (code.length === 5 && SERVER_CLASSES.has(code.slice(0, 2)))
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
  if (EXHAUSTED_CLASSES.has(code.slice(0, 2)) || isRefusedByDisk(error))
    return 'lacks the resources to answer';
  return 'cannot be reached';
}

/** An error of the server's file system has the same code as a missing privilege of a role. */
const isRefusedByDisk = (error: unknown): boolean =>
  codeOf(error) === '42501' &&
  error instanceof Error &&
  /: (Read-only file system|Permission denied)$/.test(error.message);

/** Whether the connection of the error was lost, or none could be opened. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  const fromSocket = SOCKET_CODES.has(code) && error instanceof Error && databaseErrors.has(error);
  return fromSocket || CONNECTION_CODES.has(code);
}

/**
 * Waits at most `timeoutMs`, then rejects (by default with `DatabaseTimeout`). The work is not cancelled; its statements end
 * by the client's own time-out.
 */
export const withDeadline = <T>(
  work: PromiseLike<T>,
  timeoutMs: number,
  timeoutError = () => new DatabaseTimeout(timeoutMs) as Error,
): Promise<T> =>
  within<T, never>(work, timeoutMs, () => {
    throw timeoutError();
  });
