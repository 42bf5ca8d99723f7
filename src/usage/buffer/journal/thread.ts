// The journal's thread: an fsync holds up the appends that come after it, and nothing else of the service.

import { serveThread } from '../../../core/thread.ts';
import { type Entry, openJournalFile, type Packed } from './journal-file.ts';
import type { JournalCalls, JournalSettings } from './messages.ts';

/** The interval of checking for appends of other processes. */
const POLL_MS = 100;

type Reader = Parameters<JournalCalls['read']>[0] & { until: number; entries: PromiseWithResolvers<Entry[]> };

serveThread<JournalSettings, JournalCalls, string>(({ directory, bytesMax }) => {
  const file = openJournalFile(directory, bytesMax);
  let group: { packed: Packed[]; done: PromiseWithResolvers<void> } | undefined;
  let reader: Reader | undefined;
  let poll: ReturnType<typeof setTimeout> | undefined;

  /** Everything that has arrived shares one transaction, and one fsync. */
  const flush = (): void => {
    if (group === undefined) return;
    const { packed, done } = group;
    group = undefined;
    try {
      file.append(packed);
      done.resolve();
    } catch (error) {
      done.reject(error);
    }
    read();
  };
  const read = (): void => {
    clearTimeout(poll);
    if (reader === undefined) return;
    const { after, until, entries } = reader;
    try {
      const found = file.read(after, reader);
      if (found.length === 0 && performance.now() < until) {
        poll = setTimeout(read, POLL_MS);
        return;
      }
      entries.resolve(found);
    } catch (error) {
      entries.reject(error);
    }
    reader = undefined;
  };
  return {
    opened: file.id,
    calls: {
      append(packed) {
        if (group === undefined) {
          group = { packed: [], done: Promise.withResolvers() };
          setImmediate(flush);
        }
        group.packed.push(packed);
        return group.done.promise;
      },
      read(wanted) {
        reader?.entries.resolve([]);
        const entries = Promise.withResolvers<Entry[]>();
        reader = { ...wanted, until: performance.now() + wanted.waitMs, entries };
        read();
        return entries.promise;
      },
      endRead() {
        clearTimeout(poll);
        reader?.entries.resolve([]);
        reader = undefined;
      },
      remove: file.remove,
      metrics: file.metrics,
      close() {
        flush();
        file.close();
      },
    },
  };
});
