// The form of tar (POSIX ustar) that a base backup has, so that it can be unpacked without Atrium.

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../core/durable.ts';

const BLOCK = 512;
const PATH_MAX = 100;
const CHECKSUM = { offset: 148, length: 8 } as const;
const READ_BYTES = 1024 * 1024;

export type TarEntry = { path: string; size: number; folder: boolean };

/** The header of an entry. Postgres has no longer paths than its field, and no larger files than the other one. */
export function tarHeader({ path, size, folder }: TarEntry): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  const name = folder ? `${path}/` : path;
  if (Buffer.byteLength(name) > PATH_MAX) throw new Error(`The path ${path} is too long for a base backup`);
  const octal = (value: number, offset: number, length: number): void =>
    void block.write(value.toString(8).padStart(length - 1, '0'), offset);
  block.write(name, 0);
  octal(folder ? 0o700 : 0o600, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(folder ? 0 : size, 124, 12);
  octal(0, 136, 12);
  block.write(folder ? '5' : '0', 156);
  block.write('ustar\u000000', 257);
  block.fill(' ', CHECKSUM.offset, CHECKSUM.offset + CHECKSUM.length);
  octal(sumOf(block), CHECKSUM.offset, CHECKSUM.length - 1);
  return block;
}

const sumOf = (block: Uint8Array): number => block.reduce((sum, byte) => sum + byte, 0);

/** The zeros after a file of this size. */
export const tarPadding = (size: number): Uint8Array => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** What ends an archive. */
export const TAR_END: Uint8Array = Buffer.alloc(2 * BLOCK);

/** The content of a file as its entry promised it: Postgres may lengthen, shorten or delete it meanwhile. */
export async function* tarContent(path: string, size: number): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r').catch(orAbsent);
  try {
    let left = size;
    while (left > 0) {
      const buffer = Buffer.alloc(Math.min(left, READ_BYTES));
      // Pages that the log repeats after the beginning of the backup are not needed from the file.
      const { bytesRead } = (await file?.read(buffer, 0, buffer.length, size - left)) ?? { bytesRead: 0 };
      const part = bytesRead === 0 ? buffer : buffer.subarray(0, bytesRead);
      left -= part.length;
      yield part;
    }
  } finally {
    await file?.close();
  }
  yield tarPadding(size);
}

export function orAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

/** Writes the entries into the folder. Throws for an archive that is damaged, or that names files elsewhere. */
export async function unpackTar(parts: AsyncIterable<Uint8Array>, folder: string): Promise<void> {
  let header = Buffer.alloc(0);
  let file: FileHandle | undefined;
  let content = 0;
  let padding = 0;
  let ended = false;
  try {
    for await (const part of parts) {
      for (let at = 0; at < part.length; ) {
        if (content > 0) {
          const piece = part.subarray(at, at + content);
          await file?.writeFile(piece);
          at += piece.length;
          content -= piece.length;
          if (content > 0) continue;
          await file?.close();
          file = undefined;
          continue;
        }
        if (padding > 0) {
          const skipped = Math.min(padding, part.length - at);
          at += skipped;
          padding -= skipped;
          continue;
        }
        const piece = part.subarray(at, at + BLOCK - header.length);
        header = Buffer.concat([header, piece]);
        at += piece.length;
        if (header.length < BLOCK) continue;
        const entry = parseHeader(header);
        header = Buffer.alloc(0);
        if (entry === undefined) ended = true;
        else if (entry.folder) makeFolder(join(folder, entry.path));
        else {
          file = await open(join(folder, entry.path), 'wx', 0o600);
          content = entry.size;
          padding = tarPadding(entry.size).length;
          if (content > 0) continue;
          await file.close();
          file = undefined;
        }
      }
    }
  } finally {
    await file?.close();
  }
  if (!ended) throw new Error('the base backup is cut off');
}

/** Undefined for the blocks at the end. */
function parseHeader(block: Buffer): TarEntry | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  const field = (offset: number, length: number): string =>
    block.toString('utf8', offset, offset + length).split('\0')[0] ?? '';
  const stated = Number.parseInt(field(CHECKSUM.offset, CHECKSUM.length), 8);
  const blank = Buffer.from(block).fill(' ', CHECKSUM.offset, CHECKSUM.offset + CHECKSUM.length);
  const path = field(0, PATH_MAX).replace(/\/$/, '');
  const folder = field(156, 1) === '5';
  const isInside = path !== '' && !path.startsWith('/') && !path.split('/').includes('..');
  if (stated !== sumOf(blank) || !isInside) throw new Error('the base backup is damaged');
  return { path, folder, size: Number.parseInt(field(124, 12), 8) };
}
