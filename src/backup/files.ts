// The files of a backup that hold rows: the text format of COPY, compressed with zstd.

import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';

/** Rows, bytes and checksum of the rows before compression. */
export type RowsFile = { rows: number; bytes: number; sha256: string };

/** Fast, and the file has half the size of the rows or less. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const PART_BYTES = 256 * 1024;
const NEWLINE = 10;

/** Writes a file (0600) and flushes it to the disk. */
export async function writeFlushed(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  await pipeline(content, createWriteStream(path, { mode: 0o600 }));
  const file = await open(path, 'r+');
  await file.sync().finally(() => file.close());
}

export async function writeRows(path: string, rows: AsyncIterable<Uint8Array>): Promise<RowsFile> {
  const counter = createCounter();
  const compress = createZstdCompress(COMPRESSION);
  const read = pipeline(counter.count(joinParts(rows)), compress);
  await Promise.all([read, writeFlushed(path, compress)]);
  return counter.result();
}

/** Throws if the compressed file is damaged. */
export async function* readRows(path: string): AsyncGenerator<Uint8Array> {
  const decompress = createZstdDecompress();
  const read = pipeline(createReadStream(path), decompress);
  read.catch(() => undefined);
  yield* decompress;
  await read;
}

/** Reads the whole file. Throws a sentence if it differs from what `writeRows` wrote. */
export async function checkRows(path: string, expected: RowsFile): Promise<void> {
  const counter = createCounter();
  for await (const _ of counter.count(readRows(path)));
  const { rows, bytes, sha256 } = counter.result();
  if (rows !== expected.rows) throw new Error(`it has ${rows} rows instead of ${expected.rows}`);
  if (bytes !== expected.bytes || sha256 !== expected.sha256)
    throw new Error('it does not have its checksum');
}

function createCounter() {
  const hash = new Bun.CryptoHasher('sha256');
  let rows = 0;
  let bytes = 0;
  return {
    /** COPY writes a line break in a value as `\n`, so each newline byte ends a row. */
    async *count(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const part of parts) {
        for (let at = part.indexOf(NEWLINE); at !== -1; at = part.indexOf(NEWLINE, at + 1)) rows += 1;
        bytes += part.length;
        hash.update(part);
        yield part;
      }
    },
    result: (): RowsFile => ({ rows, bytes, sha256: hash.digest('hex') }),
  };
}

/** COPY sends a row at a time; each part costs a call of the compressor. */
async function* joinParts(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    pending.push(part);
    bytes += part.length;
    if (bytes < PART_BYTES) continue;
    yield Buffer.concat(pending);
    pending = [];
    bytes = 0;
  }
  yield Buffer.concat(pending);
}

/** The rows of a single text column without control characters, such as the keys of objects. */
export async function readLines(rows: AsyncIterable<Uint8Array>): Promise<string[]> {
  const text = Buffer.concat(await Array.fromAsync(rows)).toString();
  // COPY doubles backslashes.
  return text.replaceAll('\\\\', '\\').split('\n').slice(0, -1);
}
