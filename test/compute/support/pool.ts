import { join } from 'node:path';
import { loadModule } from '../../../src/infra/wasm/module.ts';
import { createPool, type Pool, type PoolOptions } from '../../../src/infra/wasm/pool.ts';
import type { Work } from '../../../src/infra/wasm/work.ts';
import { silentLog } from '../../support/database.ts';

export const KERNELS = join(import.meta.dir, '../../../build/kernels.wasm');

/** Of work without a limit of its own: threads of low priority get a small part of a busy machine. */
const PATIENCE_MS = 600_000;

export type PoolUnderTest = AsyncDisposable & {
  pool: Pool;
  /** Does one part, or several, and gives what came out. */
  run(kind: string, input: unknown, options?: Partial<Work>): Promise<unknown>;
};

/** A pool with the kernels of the service; by default two threads that do what test/compute/support/thread.ts says. */
export async function startPool(options: Partial<PoolOptions> = {}): Promise<PoolUnderTest> {
  const pool = createPool({
    name: 'test.threads',
    entry: new URL('./thread.ts', import.meta.url),
    loadModule: () => loadModule(KERNELS),
    threads: 2,
    waitingMax: 2000,
    log: silentLog,
    ...options,
  });
  await pool.job.start();
  return {
    pool,
    run: async (kind, input, work = {}) => {
      const results = await pool.run({
        kind,
        lane: 'short',
        parts: [input],
        name: 'Test',
        waitMsMax: PATIENCE_MS,
        runMsMax: PATIENCE_MS,
        signal: new AbortController().signal,
        ...work,
      });
      return work.parts === undefined ? results[0]?.output : results.map(({ output }) => output);
    },
    [Symbol.asyncDispose]: () => pool.job.stop(),
  };
}
