// Accounts: the cost of requests and the key that it belongs to, summed in the memory of a file, and how long the requests took. They
// contain no text of a request.

import type { Endpoint } from '../adapters/adapter.ts';
import { LEDGER_NAMES_BYTES, LEDGER_SLOTS } from '../limits.ts';
import type { Usage } from '../usage.ts';

export type Outcome = 'ok' | 'cached' | 'refused' | 'failed' | 'cancelled';

export type Account = {
  workspaceId: string;
  /** The key owner's e-mail. */
  subject: string;
  /** '' without a key. */
  keyId: string;
  endpoint: Endpoint;
  model: string;
  target: string;
  outcome: Outcome;
};

export type Measures = {
  /** 0 for a later part of one. */
  requests: 0 | 1;
  usage: Usage;
  cost: number;
  latencyMs: number;
  firstEventMs: number | undefined;
};

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
export const SUMS_COUNT = LEDGER_SLOTS * SLOT_SIZE;
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
  sums: new Float64Array(SUMS_COUNT),
});

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

// Times are counted in buckets, each half an octave wide (OpenTelemetry's exponential histogram of scale 1): a percentile is exact to a
// factor of 1.41, its bucket's width. The counts are written as the digits of one number, so that a database adds histograms as it adds
// numbers.

/** From 1 ms and less to 12 minutes and more. */
export const BUCKETS_COUNT = 40;
/** Decimal digits of a bucket's count; the first bucket has the last digits. */
const DIGITS = 10;

/** The count of each bucket. */
export type Histogram = ArrayLike<number>;

/** Above the bound of the bucket before it, up to its own: 1 ms, 1.41 ms, 2 ms … */
const boundOf = (bucket: number): number => 2 ** (bucket / 2);

/** The bucket of a time in milliseconds. */
export const bucketOf = (ms: number): number =>
  ms <= 1 ? 0 : Math.min(BUCKETS_COUNT - 1, Math.ceil(2 * Math.log2(ms)));

/** A decimal number. */
export function renderHistogram(counts: Histogram): string {
  let text = '';
  for (let bucket = counts.length - 1; bucket >= 0; bucket--) {
    const count = counts[bucket] ?? 0;
    if (text !== '' || count > 0) text += text === '' ? count : String(count).padStart(DIGITS, '0');
  }
  return text === '' ? '0' : text;
}

/** The counts of a decimal number. */
export const parseHistogram = (text: string): number[] =>
  Array.from({ length: BUCKETS_COUNT }, (_, bucket) => {
    const end = text.length - bucket * DIGITS;
    return end <= 0 ? 0 : Number(text.slice(Math.max(0, end - DIGITS), end));
  });

/** Adds two histograms. */
export const addHistograms = (a: Histogram, b: Histogram): number[] =>
  Array.from({ length: BUCKETS_COUNT }, (_, bucket) => (a[bucket] ?? 0) + (b[bucket] ?? 0));

/**
 * The time in milliseconds within which this share of the requests ended, 0 to 1; undefined without requests. Within its
 * bucket it is interpolated.
 */
export function percentileOf(counts: Histogram, share: number): number | undefined {
  const all = Array.from(counts).reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  const wanted = share * all;
  let before = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const count = counts[bucket] ?? 0;
    if (count > 0 && before + count >= wanted) {
      const fraction = Math.max(0, wanted - before) / count;
      return bucket === 0 ? fraction : boundOf(bucket - 1) * Math.SQRT2 ** fraction;
    }
    before += count;
  }
  return boundOf(counts.length - 1);
}
