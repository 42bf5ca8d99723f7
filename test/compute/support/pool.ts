import { join } from 'node:path';
import { createPool, type Work } from '../../../src/infra/wasm/pool.ts';
import { loadModule } from '../../../src/infra/wasm/worker.ts';
import { silentLog } from '../../support/database.ts';

export const KERNELS = join(import.meta.dir, '../../../build/kernels.wasm');

/** Of work without a limit of its own: threads of low priority get a small part of a busy machine. */
const PATIENCE_MS = 600_000;

type Options = Partial<Work> & { lane?: 'short' | 'long' };

/**
 * Two pools with the kernels of the service, as the area of compute has them; by default with two threads each that do what
 * test/compute/support/thread.ts says.
 */
export async function startPools(options: Partial<Parameters<typeof createPool>[0]> = {}) {
  const create = (niceness: number) =>
    createPool({
      name: 'test.threads',
      entry: new URL('./thread.ts', import.meta.url),
      threads: 2,
      niceness,
      waitingMax: 2000,
      log: silentLog,
      ...options,
    });
  const lanes = { short: create(10), long: create(15) };
  const module = await loadModule(KERNELS);
  await Promise.all([lanes.short.start(module, 1), lanes.long.start(module, 0)]);
  return {
    ...lanes,
    /** Does one piece of work, and returns what came out. */
    async run(kind: string, input: unknown, { lane = 'short', ...work }: Options = {}): Promise<unknown> {
      const { output } = await lanes[lane].run({
        kind,
        input,
        owner: 'somebody',
        name: 'Test',
        timeoutMs: PATIENCE_MS,
        signal: new AbortController().signal,
        ...work,
      });
      return output;
    },
    async [Symbol.asyncDispose]() {
      for (const pool of Object.values(lanes)) {
        pool.interrupt();
        pool.end();
      }
    },
  };
}
