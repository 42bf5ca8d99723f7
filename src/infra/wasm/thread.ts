// One thread of the pool, seen from outside.

import { MessageChannel } from 'node:worker_threads';
import { ATTENTION, ATTENTION_BYTES, CANCELLED, type Opening, type Order, type Report } from './messages.ts';

const OPEN_TIMEOUT_MS = 10_000;

export type Thread = {
  /** Begins it at once, or (a long one is running) at that one's next checkpoint. */
  send(order: Order): void;
  /** Ends the running part with this id at its next checkpoint; another one is left alone. */
  cancel(id: number): void;
  end(): void;
};

export type ThreadOptions = {
  /** The file that calls `serveKernels`. */
  entry: URL;
  module: WebAssembly.Module;
  onReport(report: Exclude<Report, { type: 'open' }>): void;
  /** It is gone, and with it all that it was doing; not called after `end()`. */
  onDeath(): void;
};

/** Starts a thread; rejects when it dies or is silent before it has opened. */
export async function openThread(options: ThreadOptions): Promise<Thread> {
  const worker = new Worker(options.entry.href);
  const { port1: port, port2 } = new MessageChannel();
  const attention = new SharedArrayBuffer(ATTENTION_BYTES);
  const cells = new Int32Array(attention);
  const opened = Promise.withResolvers<void>();
  let open = false;
  let ended = false;
  const end = (): void => {
    ended = true;
    port.close();
    worker.terminate();
  };
  port.on('message', (report: Report) => {
    if (report.type === 'open') opened.resolve();
    else if (!ended) options.onReport(report);
  });
  // An uncaught error ends a thread; without a listener it would end the process.
  worker.addEventListener('error', (event) => opened.reject(new Error(event.message)));
  worker.addEventListener('close', () => {
    opened.reject(new Error('it has ended'));
    if (ended || !open) return;
    end();
    options.onDeath();
  });
  const timer = setTimeout(() => opened.reject(new Error('it does not open')), OPEN_TIMEOUT_MS);
  worker.postMessage({ module: options.module, port: port2, attention } satisfies Opening, [port2]);
  try {
    await opened.promise;
    open = true;
  } catch (error) {
    end();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  const callAttention = (): void => {
    Atomics.store(cells, ATTENTION, 1);
  };
  return {
    send(order) {
      port.postMessage(order);
      callAttention();
    },
    cancel(id) {
      Atomics.store(cells, CANCELLED, id);
      callAttention();
    },
    end,
  };
}
