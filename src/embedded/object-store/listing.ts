// One page of ListObjectsV2: keys in UTF-8 byte order, those below a delimiter folded into common prefixes.
import type { ListedRow } from './catalogue.ts';

/** Above every key: 0xff occurs in no UTF-8 text. */
const ABOVE_ALL = Buffer.of(0xff);
/** With a delimiter most rows of a batch may fold into one prefix, so batches are small. */
const FOLDED_BATCH = 32;

interface ListOptions {
  readonly prefix: string;
  /** '' folds nothing. */
  readonly delimiter: string;
  /** The start of the page: `resume` of the previous page, or the result of `positionAfter`. */
  readonly from?: Uint8Array;
  /** Keys and common prefixes together. */
  readonly max: number;
}

export interface ListPage {
  readonly rows: readonly ListedRow[];
  readonly commonPrefixes: readonly Buffer[];
  /** Where the next page begins; absent on the last one. */
  readonly resume?: Buffer;
}

/** Reads at most `limit` rows of [from, below), in order. */
type ReadRange = (range: { from: Uint8Array; below: Uint8Array; limit: number }) => ListedRow[];

/** The position behind `start-after`: behind all that folds with it, as its common prefix sorts before it. */
export function positionAfter(startAfter: string, folding: { prefix: string; delimiter: string }): Buffer {
  const key = Buffer.from(startAfter);
  const [prefix, delimiter] = [Buffer.from(folding.prefix), Buffer.from(folding.delimiter)];
  const folded = startAfter.startsWith(folding.prefix) ? fold(key, prefix, delimiter) : undefined;
  return folded === undefined ? afterKey(key) : afterAllBelow(folded);
}

/** Costs an index range for the page and one for each common prefix: folded keys are skipped, not read. */
export function listPage(read: ReadRange, options: ListOptions): ListPage {
  const prefix = Buffer.from(options.prefix);
  const delimiter = Buffer.from(options.delimiter);
  const below = prefix.length === 0 ? ABOVE_ALL : afterAllBelow(prefix);
  const rows: ListedRow[] = [];
  const commonPrefixes: Buffer[] = [];
  let from: Buffer = Buffer.from(options.from ?? prefix);
  if (Buffer.compare(from, prefix) < 0) from = prefix;
  if (options.max === 0) return { rows, commonPrefixes };
  for (;;) {
    const room = options.max - rows.length - commonPrefixes.length;
    const limit = delimiter.length === 0 ? room + 1 : Math.min(room + 1, FOLDED_BATCH);
    const batch = read({ from, below, limit });
    for (const row of batch) {
      if (rows.length + commonPrefixes.length === options.max) return { rows, commonPrefixes, resume: from };
      const key = Buffer.from(row.key);
      const folded = fold(key, prefix, delimiter);
      if (folded !== undefined) {
        commonPrefixes.push(folded);
        from = afterAllBelow(folded);
        break;
      }
      rows.push(row);
      from = afterKey(key);
    }
    const last = batch.at(-1);
    if (last === undefined || (batch.length < limit && Buffer.compare(last.key, from) < 0)) {
      return { rows, commonPrefixes };
    }
  }
}

function afterKey(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.of(0)]);
}

/** The part of the key up to the first delimiter behind the prefix. */
function fold(key: Buffer, prefix: Buffer, delimiter: Buffer): Buffer | undefined {
  if (delimiter.length === 0) return undefined;
  const position = key.indexOf(delimiter, prefix.length);
  return position < 0 ? undefined : key.subarray(0, position + delimiter.length);
}

/** The first position behind every key that begins so. UTF-8 has no 0xff, so the last byte can be raised. */
function afterAllBelow(prefix: Buffer): Buffer {
  const position = Buffer.from(prefix);
  position.writeUInt8((position.at(-1) ?? 0) + 1, position.length - 1);
  return position;
}
