/** COPY … FROM STDIN and COPY … TO STDOUT. */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Reserved, Sql } from './client.ts';
import { DatabaseTimeout } from './unavailable.ts';

type CopyQuery = {
  writable(): Promise<Writable>;
  readable(): Promise<Readable>;
  reject(error: unknown): void;
};

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
  const { stream, accepted, reject } = await begin(connection, statement);
  const timer = setTimeout(() => reject(new DatabaseTimeout(timeoutMs)), timeoutMs);
  stream.end(bytes);
  await accepted.finally(() => clearTimeout(timer));
}

/**
 * As `copyIn`, for any number of bytes and without a time-out: the next part is asked for when the connection has taken the
 * one before. After a rejection the connection must be released.
 */
export async function copyInParts(
  connection: Reserved,
  statement: string,
  parts: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { stream, accepted } = await begin(connection, statement);
  // It is awaited at the end, and may be rejected before.
  accepted.catch(() => undefined);
  for await (const part of parts) {
    if (!stream.write(part)) await Promise.race([once(stream, 'drain'), accepted]);
  }
  stream.end();
  await accepted;
}

async function begin(connection: Reserved, statement: string) {
  const query = connection.unsafe(statement) as unknown as CopyQuery;
  const stream = await query.writable();
  const { promise: accepted, resolve, reject } = Promise.withResolvers<void>();
  // postgres.js 3.4 rejects the statement on an error after the last byte, but the statement has resolved by then.
  query.reject = reject;
  stream.once('error', reject);
  stream.once('finish', resolve);
  return { stream, accepted, reject };
}

/**
 * The output of a COPY statement, in parts of at most a row each. The server waits while the caller does. Where the caller
 * does not read to the end, the connection must be released.
 */
export async function* copyOut(connection: Reserved, statement: string): AsyncGenerator<Uint8Array> {
  const query = connection.unsafe(statement) as unknown as CopyQuery;
  const stream = await query.readable();
  yield* stream;
  // postgres.js 3.4 pauses the socket while rows wait to be read, and resumes it when more are asked for, but not after the last:
  // the next statement would wait for ever.
  stream._read(0);
}

/** Runs `run` with a connection of its own whose statements may take as long as they like, as COPY of a large table does. */
export async function withConnection<Value>(
  sql: Sql,
  run: (connection: Reserved) => Promise<Value>,
): Promise<Value> {
  const connection = sql.reserve({ unlimited: true });
  try {
    return await run(connection);
  } finally {
    // Rolls back an open transaction.
    connection.release();
  }
}
