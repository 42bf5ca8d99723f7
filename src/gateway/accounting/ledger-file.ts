// One file of accounts: their names, a line each, and their sums, mapped into memory so that adding costs no system call.

import { appendFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../core/durable.ts';
import { parseJson } from '../../core/json.ts';
import { LEDGER_SLOTS } from '../limits.ts';
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
const FILE_BYTES = LEDGER_SLOTS * SLOT_SIZE * 8;
const EMPTY = new Uint8Array(FILE_BYTES);

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
  /** Adds to the account. Throws where the account is new and the disk takes no further name: then nothing is added. */
  add(account: Account, measures: Measures): void;
};

/** Makes a file, on disk unless `directory` is undefined. Throws the error of the disk; then no file is left. */
export function createLedgerFile(options: {
  id: string;
  directory: string | undefined;
  openedAt: Date;
}): LedgerFile {
  const { id, directory, openedAt } = options;
  const accounts: Account[] = [];
  const distributions: Distribution[] = [];
  const slots = new Map<string, number>();
  const sums = directory === undefined ? new Float64Array(LEDGER_SLOTS * SLOT_SIZE) : mapNew(directory, id);
  const path = directory === undefined ? undefined : namesPath(directory, id);
  let nameBytes = 0;
  const write = (text: string): void => {
    if (path === undefined) return;
    try {
      appendFileSync(path, text, { mode: 0o600 });
      nameBytes += Buffer.byteLength(text);
    } catch (error) {
      // Half a line would take the name behind it along.
      truncateSync(path, nameBytes);
      throw error;
    }
  };
  const slotOf = (account: Account): number => {
    const name = `${account.keyId} ${account.workspaceId} ${account.endpoint} ${account.model} ${account.target} ${account.outcome}`;
    const known = slots.get(name);
    if (known !== undefined) return known;
    write(`${JSON.stringify(account)}\n`);
    slots.set(name, accounts.length);
    distributions.push({
      latency: new Uint32Array(BUCKETS_COUNT),
      firstEvent: new Uint32Array(BUCKETS_COUNT),
    });
    return accounts.push(account) - 1;
  };
  const file: LedgerFile = {
    id,
    openedAt,
    accounts,
    sums,
    distributions,
    onDisk: path !== undefined,
    isFull: () => accounts.length === LEDGER_SLOTS,
    add(account, { requests, usage, cost, latencyMs, firstEventMs }) {
      const slot = slotOf(account);
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
      if (firstEventMs === undefined) return;
      addTo(sums, at + 6, 1);
      addTo(sums, at + 7, firstEventMs);
      if (distribution !== undefined) addTo(distribution.firstEvent, bucketOf(firstEventMs), 1);
    },
  };
  try {
    write(`${openedAt.getTime()}\n`);
  } catch (error) {
    if (directory !== undefined) removeLedgerFile(directory, id);
    throw error;
  }
  return file;
}

function addTo(sums: Float64Array | Uint32Array, index: number, value: number): void {
  sums[index] = (sums[index] ?? 0) + value;
}

/** The names come first: sums without names could not be handed on. */
function mapNew(directory: string, id: string): Float64Array {
  try {
    writeFileSync(namesPath(directory, id), '', { flag: 'ax', mode: 0o600 });
    // Written throughout: where the disk had no room for a page, touching it would kill the process.
    writeFileSync(sumsPath(directory, id), EMPTY, { flag: 'ax', mode: 0o600 });
  } catch (error) {
    removeLedgerFile(directory, id);
    throw error;
  }
  const mapped = Bun.mmap(sumsPath(directory, id), { shared: true });
  return new Float64Array(mapped.buffer, mapped.byteOffset, LEDGER_SLOTS * SLOT_SIZE);
}

/** The accounts that a dead process left; undefined if it had none. Throws if the file cannot be read. */
export function readLedgerFile(directory: string, id: string): Sums | undefined {
  const bytes = readIfThere(sumsPath(directory, id));
  const names = readIfThere(namesPath(directory, id));
  if (bytes?.length !== FILE_BYTES || names === undefined) return undefined;
  const [head = '', ...lines] = Buffer.from(names).toString().split('\n');
  const openedAt = new Date(Number(head));
  if (Number.isNaN(openedAt.getTime())) throw new Error(`The head of ${namesPath(directory, id)} is damaged`);
  return {
    id,
    openedAt,
    accounts: lines.map(parseAccount),
    sums: new Float64Array(bytes.buffer, bytes.byteOffset, FILE_BYTES / 8),
    distributions: [],
  };
}

export function removeLedgerFile(directory: string, id: string): void {
  rmSync(sumsPath(directory, id), { force: true });
  rmSync(namesPath(directory, id), { force: true });
}

/** Flushes a file, if it is still there: its sums then survive a loss of power. */
export async function syncLedgerFile(directory: string, id: string): Promise<void> {
  for (const path of [namesPath(directory, id), sumsPath(directory, id)]) {
    if (!existsSync(path)) continue;
    const file = await open(path, 'r');
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  }
  await syncFolder(directory);
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
