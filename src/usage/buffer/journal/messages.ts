// The messages to and from the journal's thread.

import type { Entry, JournalMetrics } from './journal-file.ts';

export type Question =
  | { id: number; kind: 'append'; pack: Uint8Array }
  | { id: number; kind: 'read'; after: number; bytesMax: number; packsMax: number; waitMs: number }
  | { id: number; kind: 'remove'; seqs: readonly number[] }
  | { id: number; kind: 'metrics' }
  | { id: number; kind: 'close' };

export type Answer =
  | { ids: readonly number[]; ok: true; value?: Entry[] | JournalMetrics }
  | { ids: readonly number[]; ok: false; full: boolean; reason: string };

/** Told once, first. */
export type Opened = { opened: string } | { failed: string };

export type ThreadSettings = { directory: string; bytesMax: number };
