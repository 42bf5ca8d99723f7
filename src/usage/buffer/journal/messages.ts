// The calls of the journal's thread.

import type { Entry, JournalMetrics, Packed } from './journal-file.ts';

export type JournalCalls = {
  append(packed: Packed): void;
  /** Waits for entries for at most `waitMs`. One reader at a time. */
  read(wanted: { after: number; bytesMax: number; packsMax: number; waitMs: number }): Entry[];
  /** Ends a read that waits, with no entries. */
  endRead(): void;
  remove(seqs: readonly number[]): void;
  metrics(): JournalMetrics;
  close(): void;
};

export type JournalSettings = { directory: string; bytesMax: number };
