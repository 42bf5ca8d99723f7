/** COPY … FROM STDIN. */
import type { Writable } from 'node:stream';
import type { Reserved } from './client.ts';
import { DatabaseTimeout } from './unavailable.ts';

type CopyQuery = { writable(): Promise<Writable>; reject(error: unknown): void };

/**
 * Sends the bytes to a COPY statement; resolves once the server has accepted all of them, and rejects with its error where
 * it refuses a row. After a rejection with `DatabaseTimeout` the connection must be released.
 */
export async function copyIn(
  connection: Reserved,
  statement: string,
  bytes: Uint8Array,
  timeoutMs: number,
): Promise<void> {
  const query = connection.unsafe(statement) as unknown as CopyQuery;
  const stream = await query.writable();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new DatabaseTimeout(timeoutMs)), timeoutMs);
  // postgres.js 3.4 rejects the statement on an error after the last byte, but the statement has resolved by then.
  query.reject = reject;
  stream.once('error', reject);
  stream.once('finish', resolve);
  stream.end(bytes);
  await promise.finally(() => clearTimeout(timer));
}
