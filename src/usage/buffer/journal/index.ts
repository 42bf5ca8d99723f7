// The embedded buffer: a journal in the data folder, for one machine.

import { messageOf, unavailable } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { createThread, ThreadOverdue } from '../../../core/thread.ts';
import { parseTraceContext } from '../../../core/trace-context.ts';
import { APPEND_TIMEOUT_MS, type BufferMetrics, type Delivery, type EventBuffer } from '../event-buffer.ts';
import { JOURNAL_FULL } from './journal-file.ts';
import type { JournalCalls, JournalSettings } from './messages.ts';

const TIMEOUT_MS = 5000;
/** Less than a check of /readyz has. */
const METRICS_TIMEOUT_MS = 2000;
const OPEN_TIMEOUT_MS = 10_000;

/** A dead thread is replaced by the next call; an overdue thread gets no events until it has answered. */
export function createJournal(settings: JournalSettings & { log: Logger }): EventBuffer {
  const { directory, bytesMax, log } = settings;
  const thread = createThread<JournalCalls, string>({
    entry: new URL('./thread.ts', import.meta.url),
    settings: { directory, bytesMax } satisfies JournalSettings,
    openMsMax: OPEN_TIMEOUT_MS,
    onEnd: () => {
      id = undefined;
      log.error({}, 'the thread of the event journal has ended by itself; it is started again');
    },
  });
  /** Of the journal that the thread has open. */
  let id: string | undefined;
  let latest: BufferMetrics = { packs: 0, bytes: 0, bytesMax };
  let position = 0;

  const ask: typeof thread.ask = async (...request) => {
    try {
      id ??= await thread.open();
      return await thread.ask(...request);
    } catch (error) {
      throw error instanceof Error && 'code' in error && error.code === JOURNAL_FULL ? full() : away(error);
    }
  };

  return {
    description: { system: 'atrium', destination: 'journal' },
    async start() {
      id = await thread.open().catch((error: unknown) => {
        const reason = messageOf(error);
        throw new Error(`The event journal in ${directory} cannot be opened: ${reason}`, { cause: error });
      });
    },
    async append(pack, trace) {
      await ask('append', { pack, traceparent: trace?.traceparent }, APPEND_TIMEOUT_MS);
    },
    async fetch(limits) {
      const entries = await ask('read', { after: position, ...limits }, limits.waitMs + TIMEOUT_MS);
      position = entries.at(-1)?.seq ?? position;
      return entries.map(({ seq, pack, traceparent }) => ({
        pack,
        receipt: seq,
        trace: parseTraceContext(traceparent, undefined),
      }));
    },
    endFetch() {
      if (id !== undefined) void thread.ask('endRead', TIMEOUT_MS).catch(() => undefined);
    },
    async acknowledge(deliveries) {
      await ask('remove', deliveries.map(seqOf), TIMEOUT_MS);
    },
    async release(deliveries) {
      // Some behind it may be delivered twice: nothing is stored twice.
      position = Math.min(position, ...deliveries.map((delivery) => seqOf(delivery) - 1));
    },
    async metrics() {
      try {
        latest = { ...(await thread.ask('metrics', METRICS_TIMEOUT_MS)), bytesMax };
      } catch (error) {
        if (!(error instanceof ThreadOverdue)) throw away(error);
        return { ...latest, fault: 'hangs' };
      }
      return latest;
    },
    durability: () => ({ synced: true }),
    // Other journals, of other machines, have sinks of their own.
    sinkLock: () => (id === undefined ? undefined : `usage.sink ${id}`),
    async close() {
      if (id !== undefined) await thread.ask('close', TIMEOUT_MS).catch(() => undefined);
      thread.end();
    },
  };
}

const seqOf = (delivery: Delivery): number => delivery.receipt as number;

const away = (cause?: unknown) => unavailable('Usage events cannot be taken now', { cause });
const full = () => unavailable('Usage events cannot be taken now: the buffer is full');
