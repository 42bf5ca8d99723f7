// The inside of a thread that runs kernels: the WASM module, and the TypeScript around it.

import { readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { serveThread } from '../../core/thread.ts';

/** Does one kind of work with the kernels. The caller of the pool gets what it throws as an Error. */
export type Handler = (kernels: WebAssembly.Exports, input: unknown) => unknown;

export type KernelSettings = {
  module: WebAssembly.Module;
  /** One cell; while it is not 0, the running work ends at its next checkpoint. */
  cancelled: Int32Array;
  niceness: number;
};

export type KernelCalls = { run(work: { kind: string; input: unknown }): { output: unknown; ms: number } };

/** Compiles a WASM file, for any number of threads. Throws one line when it is not there. */
export async function loadModule(path: string): Promise<WebAssembly.Module> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new Error(`${path} cannot be read: the start and test commands compile it`, { cause: error });
  }
  return WebAssembly.compile(bytes);
}

/** Serves a pool; called once, at the top of the thread's own file. */
export function serveKernels(handlers: Readonly<Record<string, Handler>>): void {
  serveThread<KernelSettings, KernelCalls>(({ module, cancelled, niceness }) => {
    const checkpoint = (): void => {
      if (Atomics.load(cancelled, 0) !== 0) throw new Error('it was cancelled');
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
          const output = handler(exports, input);
          return { output, ms: performance.now() - startedAt };
        },
      },
    };
  });
}

/**
 * Lowers the priority of the calling thread. Priorities belong to threads on Linux alone, elsewhere to whole processes. Only a
 * privileged process may raise a priority.
 */
export function beNice(niceness: number): void {
  if (process.platform === 'linux') setPriority(0, Math.max(getPriority(), niceness));
}
