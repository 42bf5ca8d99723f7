// Inside a thread of the pool: kernels, and the TypeScript around them.

import { serveThread, Transfer } from '../../core/thread.ts';
import { beNice } from './niceness.ts';
import type { PartResult } from './work.ts';

/** Does one kind of work with the kernels. What it throws, the caller of the pool gets as an Error. */
export type Handler = (kernels: WebAssembly.Exports, input: unknown) => Outcome;

/** An output may name buffers that are transferred instead of copied. */
type Outcome = { output: unknown; transfer?: ArrayBuffer[] };

export type KernelSettings = {
  module: WebAssembly.Module;
  /** One cell; while it is not 0, the running part ends at its next checkpoint. */
  cancelled: SharedArrayBuffer;
  niceness: number;
};

export type KernelCalls = { run(part: { kind: string; input: unknown }): PartResult };

/** Serves a pool until the thread is ended; called once, at the top of the thread's own file. */
export function serveKernels(handlers: Readonly<Record<string, Handler>>): void {
  serveThread<KernelSettings, KernelCalls>(({ module, cancelled, niceness }) => {
    const cell = new Int32Array(cancelled);
    const checkpoint = (): void => {
      if (Atomics.load(cell, 0) !== 0) throw new Error('it was cancelled');
    };
    const { exports } = new WebAssembly.Instance(module, { host: { checkpoint } });
    beNice(niceness);
    return {
      opened: undefined,
      calls: {
        run({ kind, input }) {
          const handler = handlers[kind];
          if (handler === undefined) throw new Error(`there is no handler for ${kind}`);
          const startedAt = performance.now();
          const { output, transfer = [] } = handler(exports, input);
          return new Transfer({ output, ms: performance.now() - startedAt }, transfer);
        },
      },
    };
  });
}
