// Tells "the database is down, slow or going away" from a mistake of ours.

import { codeOf, type ServiceError, unavailable } from '../../core/errors.ts';
import { within } from '../../core/wait.ts';

/** What postgres.js calls it, and the server's farewell at a shutdown or after a crash. */
const CONNECTION_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  '57P01',
  '57P02',
]);

/** What the system calls it; other clients' errors have these codes, too. */
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

/** The database did not answer in time. What it was asked to do may still happen. */
export class DatabaseTimeout extends Error {
  readonly code = 'DATABASE_TIMEOUT';

  constructor(timeoutMs: number) {
    super(`The database did not answer within ${timeoutMs} ms`);
    this.name = 'DatabaseTimeout';
  }
}

/** The statement was for a connection that was lost before. */
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

/** Whether the failure is the database's state and not the statement: the same call may succeed later. */
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

/** A database that is down, slow or going away is the caller's 503, not our 500. Undefined for other errors. */
export const explainOutage = (error: unknown): ServiceError | undefined =>
  isUnavailable(error) ? unavailable('The database cannot be reached', { cause: error }) : undefined;

/** What the system does not let the server do with its files has the code of a role that lacks a privilege. */
const isRefusedByDisk = (error: unknown): boolean =>
  codeOf(error) === '42501' &&
  error instanceof Error &&
  /: (Read-only file system|Permission denied)$/.test(error.message);

/** Whether the connection that the error came over is gone, or none could be had. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  const fromSocket = SOCKET_CODES.has(code) && error instanceof Error && databaseErrors.has(error);
  return fromSocket || CONNECTION_CODES.has(code);
}

/**
 * Waits at most `timeoutMs`, then rejects (by default with `DatabaseTimeout`). The work itself goes on: what it asks
 * of the database ends by the client's own limit.
 */
export function withDeadline<T>(
  work: PromiseLike<T>,
  timeoutMs: number,
  timeoutError = () => new DatabaseTimeout(timeoutMs) as Error,
): Promise<T> {
  return within<T, never>(work, timeoutMs, () => {
    throw timeoutError();
  });
}
