// Why events are not stored: for their content, or for lack of time.

import { codeOf } from '../core/errors.ts';

/** Data exceptions, violated constraints, program limits: a retry of the same rows would be refused again. */
const REFUSALS = /^(?:22|23|54)/;
/** The statement time-out of the server, and the deadline of our client. */
const TIMEOUTS: ReadonlySet<string> = new Set(['57014', 'DATABASE_TIMEOUT']);

/** Whether the database refuses the rows for their content. */
export const isRefusal = (error: unknown): error is Error => REFUSALS.test(codeOf(error));
/** Whether the database, or the way to it, took too long: a smaller batch may succeed. */
export const isTimeout = (error: unknown): boolean => TIMEOUTS.has(codeOf(error));
