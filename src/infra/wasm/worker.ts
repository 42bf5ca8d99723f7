// Inside a thread of the pool: kernels, the TypeScript around them, and the way to reach somebody who is busy.

import { setPriority } from 'node:os';
import { receiveMessageOnPort } from 'node:worker_threads';
import { ATTENTION, CANCELLED, type Opening, type Order, type Report } from './messages.ts';

declare const self: Worker;

/** An output may name buffers that are handed over instead of copied. */
export type Outcome = { output: unknown; transfer?: ArrayBuffer[] };

/** Does one kind of work with the kernels. What it throws, the caller of the pool gets as an Error. */
export type Handler = (kernels: WebAssembly.Exports, input: unknown) => Outcome;

class Cancelled extends Error {}

/** Serves a pool until the thread is ended; called once, at the top of the thread's own file. */
export function serveKernels(handlers: Readonly<Record<string, Handler>>): void {
  self.onmessage = ({ data }: MessageEvent<Opening>) => serve(data, handlers);
}

function serve({ module, port, attention }: Opening, handlers: Readonly<Record<string, Handler>>): void {
  const cells = new Int32Array(attention);
  const report = (message: Report, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);
  let running: Order | undefined;
  let interrupted = false;

  const run = ({ id, kind, input }: Order): void => {
    const startedAt = performance.now();
    try {
      const handler = handlers[kind];
      if (handler === undefined) throw new Error(`there is no handler for ${kind}`);
      const { output, transfer } = handler(instance.exports, input);
      report({ type: 'done', id, output, ms: performance.now() - startedAt }, transfer);
    } catch (error) {
      if (error instanceof Cancelled) report({ type: 'cancelled', id });
      else report({ type: 'failed', id, reason: error instanceof Error ? error.message : String(error) });
    }
  };
  /** While something long runs, one of those that have come, which can only be short, is done at each checkpoint. */
  const checkpoint = (): void => {
    if (Atomics.load(cells, ATTENTION) === 0 || interrupted || running?.long !== true) return;
    Atomics.store(cells, ATTENTION, 0);
    if (Atomics.load(cells, CANCELLED) === running.id) throw new Cancelled();
    const next = receiveMessageOnPort(port);
    if (next === undefined) return;
    Atomics.store(cells, ATTENTION, 1);
    interrupted = true;
    run(next.message as Order);
    interrupted = false;
  };
  const instance = new WebAssembly.Instance(module, { host: { checkpoint } });

  port.on('message', (order: Order) => {
    running = order;
    run(order);
    running = undefined;
  });
  yieldTheProcessor();
  report({ type: 'open' });
}

/** A tenth of the share of the thread that answers requests, where they compete. */
const NICENESS = 10;

/** Priorities belong to threads on Linux alone, elsewhere to whole processes. */
function yieldTheProcessor(): void {
  if (process.platform === 'linux') setPriority(0, NICENESS);
}
