// The service, with a probe of its event loop, and clients that keep its threads busy.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../test/support/child.ts';
import { type RunningService, startService } from '../../test/support/service.ts';

export type Setting = AsyncDisposable & {
  service: RunningService;
  /** Milliseconds by which the event loop was late since the last call. */
  loopDelays(): Promise<number[]>;
  /** Of the threads for long computations: that of the nicest thread of the service. */
  niceness(): number;
  /** Keeps so many long computations running until it is disposed of. */
  occupy(threads: number): Promise<AsyncDisposable>;
};

type Load = { running: number; waiting: number };

export async function computeLoad(url: string): Promise<Load> {
  const answer = await fetch(`${url}/readyz`);
  return ((await answer.json()) as { services: { compute: Load } }).services.compute;
}

export async function startSetting(threads: number): Promise<Setting> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-bench-compute-'));
  const file = join(folder, 'delays.json');
  const probe = join(import.meta.dir, 'loop-probe.ts');
  const service = await startService({
    environment: { COMPUTE_THREADS: `${threads}`, BUN_OPTIONS: `--preload=${probe}`, LOOP_DELAYS: file },
    postgres: 'embedded',
  });
  return {
    service,
    async loopDelays() {
      rmSync(file, { force: true });
      service.child.kill('SIGUSR2');
      await eventually('the delays', () => existsSync(file));
      await Bun.sleep(50);
      return JSON.parse(readFileSync(file, 'utf8')) as number[];
    },
    niceness() {
      const folder = `/proc/${service.child.pid}/task`;
      const nicenesses = readdirSync(folder).map((thread) => getPriority(Number(thread)));
      return Math.max(...nicenesses);
    },
    async occupy(count) {
      const leaving = new AbortController();
      const keep = async (): Promise<void> => {
        while (!leaving.signal.aborted) {
          const answer = await fetch(`${service.url}/compute?n=45`, { signal: leaving.signal });
          await answer.text();
        }
      };
      const keepers = Array.from({ length: count }, () => keep().catch(() => undefined));
      await eventually(
        'the threads to be busy',
        async () => (await computeLoad(service.url)).running === count,
      );
      return {
        async [Symbol.asyncDispose]() {
          leaving.abort();
          await Promise.all(keepers);
          await eventually('them to rest', async () => (await computeLoad(service.url)).running === 0);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
