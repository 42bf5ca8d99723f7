// Files of a backup that hold rows: the text format of COPY, compressed by zstd.

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { PART_BYTES } from './limits.ts';

export type RowsFile = { rows: number; bytes: number; sha256: string };

/** Fast, and half as large as the rows or less. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

const NEWLINE = 10;

/** Writes a new file (0600); it is on the disk when this resolves. */
export async function writeRows(path: string, parts: AsyncIterable<Uint8Array>): Promise<RowsFile> {
  const file: RowsFile = { rows: 0, bytes: 0, sha256: '' };
  const hash = createHash('sha256');
  await pipeline(
    countRows(joinParts(parts), file),
    createZstdCompress(COMPRESSION),
    async function* (compressed: AsyncIterable<Uint8Array>) {
      for await (const part of compressed) {
        hash.update(part);
        file.bytes += part.length;
        yield part;
      }
    },
    createWriteStream(path, { flags: 'wx', mode: 0o600 }),
  );
  const written = await open(path, 'r+');
  await written.sync().finally(() => written.close());
  return { ...file, sha256: hash.digest('hex') };
}

/** The rows of a file. Throws for one whose compression is damaged. */
export async function* readRows(path: string): AsyncGenerator<Uint8Array> {
  const decompressed = createZstdDecompress();
  const ended = pipeline(createReadStream(path), decompressed);
  ended.catch(() => undefined);
  yield* decompressed;
  await ended;
}

/** Reads all of it, and returns what `writeRows` has returned where it is as it was. */
export async function checkRows(path: string): Promise<RowsFile> {
  const file: RowsFile = { rows: 0, bytes: 0, sha256: '' };
  const hash = createHash('sha256');
  for await (const part of createReadStream(path)) {
    hash.update(part);
    file.bytes += part.length;
  }
  for await (const _ of countRows(readRows(path), file));
  return { ...file, sha256: hash.digest('hex') };
}

/** COPY writes a line break of a value as `\n`, so that each byte of it ends a row. */
async function* countRows(
  parts: AsyncIterable<Uint8Array>,
  counted: { rows: number },
): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    for (let at = part.indexOf(NEWLINE); at !== -1; at = part.indexOf(NEWLINE, at + 1)) counted.rows += 1;
    yield part;
  }
}

/** The same bytes in larger parts, because a row is too small to be written by a call of its own. */
async function* joinParts(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let joined = Buffer.allocUnsafe(PART_BYTES);
  let length = 0;
  for await (const part of parts) {
    if (length + part.length > PART_BYTES) {
      if (length > 0) yield joined.subarray(0, length);
      joined = Buffer.allocUnsafe(PART_BYTES);
      length = 0;
    }
    if (part.length > PART_BYTES) yield part;
    else {
      joined.set(part, length);
      length += part.length;
    }
  }
  if (length > 0) yield joined.subarray(0, length);
}

/** Rows of a single column without control characters, such as keys of objects. */
export const readLines = (path: string): AsyncGenerator<string> => linesOf(readRows(path));

/** As `readLines`, of rows as COPY writes them. */
export async function* linesOf(rows: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of rows) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    // COPY doubles backslashes.
    for (const line of lines) yield line.replaceAll('\\\\', '\\');
  }
}
