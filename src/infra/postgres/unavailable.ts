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

/** Codes and classes of PostgreSQL (appendix A) for a server that exists but can't serve now. */
const SERVER_CODES = new Set([
  '25006', // read-only after a failover
  '25P03', // idle in transaction for too long
  '57014', // statement timeout
  '57P03', // starting up or shutting down
  '57P05', // idle session timeout
]);
const SERVER_CLASSES = new Set([
  '08', // connection exception
  '53', // insufficient resources: connections, disk, memory
  '58', // system error
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
  isUnavailable(error) ? unavailable('The database cannot be reached', { cause: error }) : undefined;

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
