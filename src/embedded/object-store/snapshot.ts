// Snapshots of the catalogue, for copies of the store during operation: SQLite's file and its log, copied one after the
// other, are inconsistent. A number in the file's header marks a snapshot. A store that starts with one then expects
// that files without a name were written later, and that an older log does not apply.
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../../core/durable.ts';
import { limits } from './limits.ts';

/** Where SQLite keeps `user_version`, big-endian: https://www.sqlite.org/fileformat2.html section 1.3 */
const VERSION_OFFSET = 60;
/** Instead of the catalogue's own. Formats to come have higher numbers than both. */
export const SNAPSHOT_VERSION = 2;

export const snapshotPath = (directory: string): string => join(directory, 'catalogue.snapshot.sqlite');

/**
 * Copies a database file that does not change meanwhile; the target is replaced atomically or not at all. False if the
 * copy was aborted because of `isEnding`.
 */
export async function copyAsSnapshot(
  source: FileHandle,
  target: string,
  isEnding: () => boolean,
): Promise<boolean> {
  const unfinished = `${target}.new`;
  const file = await open(unfinished, 'w', 0o600);
  try {
    const buffer = Buffer.alloc(limits.readBufferBytes);
    for (let position = 0; ; ) {
      if (isEnding()) return false;
      const { bytesRead } = await source.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) break;
      await writeAll(file, buffer.subarray(0, bytesRead), position);
      position += bytesRead;
    }
    const version = Buffer.alloc(4);
    version.writeUInt32BE(SNAPSHOT_VERSION);
    await writeAll(file, version, VERSION_OFFSET);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, target);
  await syncFolder(dirname(target));
  return true;
}

/** Not to be asked of a file that SQLite has open in this process: its locks would go with the descriptor. */
export function isSnapshot(path: string): boolean {
  if (!existsSync(path)) return false;
  const descriptor = openSync(path, 'r');
  try {
    return readVersion(descriptor) === SNAPSHOT_VERSION;
  } finally {
    closeSync(descriptor);
  }
}

/** `user_version` in the file, without the log; undefined for an empty file. */
export function readVersion(descriptor: number): number | undefined {
  const version = Buffer.alloc(4);
  return readSync(descriptor, version, 0, 4, VERSION_OFFSET) === 4 ? version.readUInt32BE() : undefined;
}

/** A single write may take less than it was given. */
export async function writeAll(file: FileHandle, data: Buffer, position: number): Promise<void> {
  let offset = 0;
  while (offset < data.length) {
    const { bytesWritten } = await file.write(data, offset, data.length - offset, position + offset);
    offset += bytesWritten;
  }
}
