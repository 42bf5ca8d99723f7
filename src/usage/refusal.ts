// Why events are not stored: for their content, or for lack of time.

/** Data exceptions, violated constraints, program limits: the same rows would be refused for ever. */
const REFUSALS = /^(?:22|23|54)/;
/** Of the server, and of our own clock. */
const TIMEOUTS: ReadonlySet<string> = new Set(['57014', 'DATABASE_TIMEOUT']);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** The database refuses the rows for their content. */
export const isRefusal = (error: unknown): error is Error => REFUSALS.test(codeOf(error));
/** It, or the way to it, took too long: fewer rows may do. */
export const isTimeout = (error: unknown): boolean => TIMEOUTS.has(codeOf(error));
