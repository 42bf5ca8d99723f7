// Files of accounts: their names, a line each, and their sums. Both are mapped into memory, so that adding is no call of the disk,
// which may hang, and outlives the process all the same.

import { readFileSync } from 'node:fs';
import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../core/durable.ts';
import { codeOf } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { LEDGER_NAMES_BYTES } from '../limits.ts';
import { type Account, type LedgerFile, type LedgerRoom, SUMS_COUNT, type Sums } from './sums.ts';

const SUMS_BYTES = SUMS_COUNT * 8;
const NEWLINE = 10;

/**
 * Makes a file that has no accounts yet. It is written throughout: where the disk had no room for a page, touching it would kill
 * the process. Rejects with the error of the disk; then no file is left.
 */
export async function roomOnDisk(directory: string, id: string): Promise<LedgerRoom> {
  const map = async (path: string, bytes: number): Promise<Uint8Array> => {
    await writeFile(path, new Uint8Array(bytes), { flag: 'ax', mode: 0o600 });
    return Bun.mmap(path, { shared: true });
  };
  try {
    // The names come first: sums without names could not be handed on.
    const names = await map(namesPath(directory, id), LEDGER_NAMES_BYTES);
    const { buffer, byteOffset } = await map(sumsPath(directory, id), SUMS_BYTES);
    return { id, onDisk: true, names, sums: new Float64Array(buffer, byteOffset, SUMS_COUNT) };
  } catch (error) {
    await removeLedgerFile(directory, id);
    throw error;
  }
}

/** The accounts that a dead process left; undefined if it had none. Throws if the file cannot be read. */
export function readLedgerFile(directory: string, id: string): Sums | undefined {
  const sums = readIfThere(sumsPath(directory, id));
  const names = readIfThere(namesPath(directory, id));
  if (sums?.length !== SUMS_BYTES || names === undefined) return undefined;
  const written = Buffer.from(names).subarray(0, names.lastIndexOf(NEWLINE) + 1);
  // Nobody has opened it yet.
  if (written.length === 0) return undefined;
  const [head, ...lines] = written.toString().split('\n');
  const openedAt = new Date(Number(head));
  if (Number.isNaN(openedAt.getTime())) throw new Error(`The head of ${namesPath(directory, id)} is damaged`);
  return {
    id,
    openedAt,
    accounts: lines.map(parseAccount),
    sums: new Float64Array(sums.buffer, sums.byteOffset, SUMS_COUNT),
    distributions: [],
  };
}

export async function removeLedgerFile(directory: string, id: string): Promise<void> {
  await rm(sumsPath(directory, id), { force: true });
  await rm(namesPath(directory, id), { force: true });
}

/**
 * Removes a file that has been handed on. Its pages are flushed first, because a file system in user space writes dirty pages when
 * their mapping ends. The garbage collector ends it on the main thread, which would wait for a disk that hangs. The caller keeps
 * its reference to the file until this resolves.
 */
export async function discardLedgerFile(directory: string, { id }: LedgerFile): Promise<void> {
  try {
    await flush(directory, id);
  } finally {
    await removeLedgerFile(directory, id);
  }
}

/** Flushes a file, if it is still there: its sums then survive a loss of power. */
export async function syncLedgerFile(directory: string, id: string): Promise<void> {
  await flush(directory, id);
  await syncFolder(directory);
}

async function flush(directory: string, id: string): Promise<void> {
  for (const path of [namesPath(directory, id), sumsPath(directory, id)]) {
    const file = await open(path, 'r').catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    try {
      await file?.sync();
    } finally {
      await file?.close();
    }
  }
}

const NAMES = '.names';
const namesPath = (directory: string, id: string): string => join(directory, `${id}${NAMES}`);
const sumsPath = (directory: string, id: string): string => join(directory, `${id}.sums`);

export const toLedgerId = (name: string): string | undefined =>
  name.endsWith(NAMES) ? name.slice(0, -NAMES.length) : undefined;

function parseAccount(text: string): Account | undefined {
  try {
    return parseJson(text) as Account;
  } catch {
    // Half a line: its writer died before it counted anything there.
    return undefined;
  }
}

/** In a buffer of its own, so that numbers can be read from its start. */
function readIfThere(path: string): Uint8Array | undefined {
  try {
    return new Uint8Array(readFileSync(path));
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
}
