// One file of accounts: their names, a line each, and their sums. Both are mapped into memory, so that adding is no call of the
// disk, which may hang, and outlives the process all the same.

import { readFileSync } from 'node:fs';
import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../core/durable.ts';
import { codeOf } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { LEDGER_NAMES_BYTES, LEDGER_SLOTS } from '../limits.ts';
import type { Account, Measures } from './account.ts';
import { BUCKETS_COUNT, bucketOf, renderHistogram } from './histogram.ts';

/** Float64 each, in this order. */
const SUMS = [
  'requests',
  'estimated',
  'prompt_tokens',
  'completion_tokens',
  'cost',
  'latency_ms',
  'first_events',
  'first_event_ms',
] as const;
const SLOT_SIZE = SUMS.length;
const SUMS_BYTES = LEDGER_SLOTS * SLOT_SIZE * 8;
const NEWLINE = 10;
/** A file with less room than this for names counts as full. */
const LONG_NAME_BYTES = 4096;

/** How the times of an account's requests are distributed. */
type Distribution = { latency: Uint32Array; firstEvent: Uint32Array };

/** The accounts of a file, as events. A truncated line has no account, because nothing was added to it. */
export type Sums = {
  id: string;
  openedAt: Date;
  accounts: readonly (Account | undefined)[];
  /** One after the other, in the order of the accounts. */
  sums: Float64Array;
  /**
   * In the same order, in memory alone: when a process dies, those of its last second are lost, and percentiles are made
   * from the others.
   */
  distributions: readonly Distribution[];
};

export type LedgerFile = Sums & {
  onDisk: boolean;
  isFull(): boolean;
  /** Adds to the account. False where there is no room for a new one: then nothing is added. */
  add(account: Account, measures: Measures): boolean;
};

/** Where the accounts of one file go. */
export type LedgerRoom = { id: string; onDisk: boolean; names: Uint8Array; sums: Float64Array };

export const roomInMemory = (id: string): LedgerRoom => ({
  id,
  onDisk: false,
  names: new Uint8Array(LEDGER_NAMES_BYTES),
  sums: new Float64Array(LEDGER_SLOTS * SLOT_SIZE),
});

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
    return { id, onDisk: true, names, sums: new Float64Array(buffer, byteOffset, LEDGER_SLOTS * SLOT_SIZE) };
  } catch (error) {
    await removeLedgerFile(directory, id);
    throw error;
  }
}

export function openLedgerFile({ id, onDisk, names, sums }: LedgerRoom, openedAt: Date): LedgerFile {
  const accounts: Account[] = [];
  const distributions: Distribution[] = [];
  const slots = new Map<string, number>();
  let nameBytes = 0;
  /** False where it does not fit. */
  const write = (text: string): boolean => {
    const line = Buffer.from(`${text}\n`);
    if (nameBytes + line.length > names.length) return false;
    names.set(line, nameBytes);
    nameBytes += line.length;
    return true;
  };
  const slotOf = (account: Account): number | undefined => {
    const name = `${account.keyId} ${account.workspaceId} ${account.endpoint} ${account.model} ${account.target} ${account.outcome}`;
    const known = slots.get(name);
    if (known !== undefined) return known;
    if (accounts.length === LEDGER_SLOTS || !write(JSON.stringify(account))) return undefined;
    slots.set(name, accounts.length);
    distributions.push({
      latency: new Uint32Array(BUCKETS_COUNT),
      firstEvent: new Uint32Array(BUCKETS_COUNT),
    });
    return accounts.push(account) - 1;
  };
  write(`${openedAt.getTime()}`);
  return {
    id,
    openedAt,
    accounts,
    sums,
    distributions,
    onDisk,
    isFull: () => accounts.length === LEDGER_SLOTS || nameBytes + LONG_NAME_BYTES > names.length,
    add(account, { requests, usage, cost, latencyMs, firstEventMs }) {
      const slot = slotOf(account);
      if (slot === undefined) return false;
      const at = slot * SLOT_SIZE;
      // In the order of `SUMS`.
      addTo(sums, at, requests);
      if (usage.estimated) addTo(sums, at + 1, requests);
      addTo(sums, at + 2, usage.promptTokens);
      addTo(sums, at + 3, usage.completionTokens);
      addTo(sums, at + 4, cost);
      addTo(sums, at + 5, requests * latencyMs);
      const distribution = distributions[slot];
      if (distribution !== undefined && requests > 0) addTo(distribution.latency, bucketOf(latencyMs), 1);
      if (firstEventMs === undefined) return true;
      addTo(sums, at + 6, 1);
      addTo(sums, at + 7, firstEventMs);
      if (distribution !== undefined) addTo(distribution.firstEvent, bucketOf(firstEventMs), 1);
      return true;
    },
  };
}

function addTo(sums: Float64Array | Uint32Array, index: number, value: number): void {
  sums[index] = (sums[index] ?? 0) + value;
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
    sums: new Float64Array(sums.buffer, sums.byteOffset, LEDGER_SLOTS * SLOT_SIZE),
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

/** Measures of an account: undefined where nothing was added to it. */
export function measuresOf({ sums, distributions }: Pick<Sums, 'sums' | 'distributions'>, slot: number) {
  const values = sums.subarray(slot * SLOT_SIZE, (slot + 1) * SLOT_SIZE);
  if (values.every((value) => value === 0)) return undefined;
  const named = Object.fromEntries(SUMS.map((name, index) => [name, values[index] ?? 0]));
  const { latency = [], firstEvent = [] } = distributions[slot] ?? {};
  return {
    ...(named as Record<(typeof SUMS)[number], number>),
    latency_histogram: renderHistogram(latency),
    first_event_histogram: renderHistogram(firstEvent),
  };
}

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
