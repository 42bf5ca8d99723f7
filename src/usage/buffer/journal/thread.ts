// The journal's thread: an fsync holds up the calls that come after it, and nothing else of the service.

import { serveThread } from '../../../core/thread.ts';
import { type Entry, type JournalMetrics, openJournalFile, type Packed } from './journal-file.ts';

export type JournalSettings = { directory: string; bytesMax: number };

export type JournalCalls = {
  append(packed: Packed): void;
  read(wanted: { after: number; bytesMax: number; packsMax: number }): Entry[];
  remove(seqs: readonly number[]): void;
  metrics(): JournalMetrics;
  close(): void;
};

serveThread<JournalSettings, JournalCalls, string>(({ directory, bytesMax }) => {
  const file = openJournalFile(directory, bytesMax);
  return { opened: file.id, calls: file };
});
