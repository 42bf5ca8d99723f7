// The embedded buffer: a journal in the data folder, for one machine.

import { unavailable } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { APPEND_TIMEOUT_MS, type Delivery, type EventBuffer } from '../event-buffer.ts';
import type { Entry, JournalMetrics } from './journal-file.ts';
import type { Answer, Opened, Question, ThreadSettings } from './messages.ts';

type Asked = Question extends infer Each ? (Each extends Question ? Omit<Each, 'id'> : never) : never;
type Pending = PromiseWithResolvers<Extract<Answer, { ok: true }>['value']>;

const TIMEOUT_MS = 5000;
const OPEN_TIMEOUT_MS = 10_000;

/** A thread that has died is replaced by the next question. */
export function createJournal(settings: ThreadSettings & { log: Logger }): EventBuffer {
  const { directory, bytesMax, log } = settings;
  const pending = new Map<number, Pending>();
  let thread: { worker: Worker; id: string } | undefined;
  let opening: Promise<Worker> | undefined;
  let ids = 0;
  let position = 0;
  let closed = false;

  const open = async (): Promise<Worker> => {
    const worker = new Worker(new URL('./thread.ts', import.meta.url).href);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const timer = setTimeout(() => reject(new Error('it does not open')), OPEN_TIMEOUT_MS);
    worker.onmessage = ({ data }: MessageEvent<Answer | Opened>) => {
      if ('opened' in data) resolve(data.opened);
      else if ('failed' in data) reject(new Error(data.failed));
      else settle(data);
    };
    worker.addEventListener('close', () => {
      reject(new Error('its thread has ended'));
      if (thread?.worker !== worker) return;
      thread = undefined;
      if (!closed) log.error({}, 'the thread of the event journal has ended by itself; it is started again');
      for (const each of pending.values()) each.reject(away());
      pending.clear();
    });
    worker.postMessage({ directory, bytesMax } satisfies ThreadSettings);
    try {
      thread = { worker, id: await promise };
      return worker;
    } catch (error) {
      worker.terminate();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
  const settle = (answer: Answer): void => {
    for (const id of answer.ids) {
      const waiting = pending.get(id);
      pending.delete(id);
      if (answer.ok) waiting?.resolve(answer.value);
      else waiting?.reject(answer.full ? full() : away(new Error(answer.reason)));
    }
  };
  const ask = async (question: Asked, timeoutMs = TIMEOUT_MS): Promise<Awaited<Pending['promise']>> => {
    if (closed) throw away();
    const worker = thread?.worker ?? (await reopened());
    const id = ++ids;
    const waiting: Pending = Promise.withResolvers();
    pending.set(id, waiting);
    const timer = setTimeout(() => {
      pending.delete(id);
      waiting.reject(away(new Error('no answer in time')));
    }, timeoutMs);
    worker.postMessage({ ...question, id } as Question);
    return waiting.promise.finally(() => clearTimeout(timer));
  };
  const reopened = (): Promise<Worker> => {
    opening ??= open().finally(() => {
      opening = undefined;
    });
    return opening.catch((error: unknown) => Promise.reject(away(error)));
  };

  return {
    async start() {
      await open().catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`The event journal in ${directory} cannot be opened: ${reason}`, { cause: error });
      });
    },
    async append(pack) {
      await ask({ kind: 'append', pack }, APPEND_TIMEOUT_MS);
    },
    async fetch(limits) {
      const question = { kind: 'read', after: position, ...limits } as const;
      const entries = (await ask(question, limits.waitMs + TIMEOUT_MS)) as Entry[];
      position = entries.at(-1)?.seq ?? position;
      return entries.map(({ seq, pack }) => ({ pack, receipt: seq }));
    },
    async acknowledge(deliveries) {
      await ask({ kind: 'remove', seqs: deliveries.map(seqOf) });
    },
    async release(deliveries) {
      // Some behind it may be delivered twice: nothing is stored twice.
      position = Math.min(position, ...deliveries.map((delivery) => seqOf(delivery) - 1));
    },
    async metrics() {
      return { ...((await ask({ kind: 'metrics' })) as JournalMetrics), bytesMax };
    },
    durability: () => ({ synced: true }),
    // Other journals, of other machines, have sinks of their own.
    sinkLock: () => (thread === undefined ? undefined : `usage.sink ${thread.id}`),
    async close() {
      if (thread === undefined) return;
      await ask({ kind: 'close' }).catch(() => undefined);
      closed = true;
      thread.worker.terminate();
    },
  };
}

const seqOf = (delivery: Delivery): number => delivery.receipt as number;

const away = (cause?: unknown) => unavailable('Usage events cannot be taken now', { cause });
const full = () => unavailable('Usage events cannot be taken now: the buffer is full');
