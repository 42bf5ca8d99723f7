// What a piece of work costs a process: the longest time for which its event loop stood still, and its memory.

import { join } from 'node:path';
import { memoryMiB, resetPeak } from '../lib/process.ts';
import type { ProbeReport } from './probe.ts';

export type Cost = { stallMs: number; memoryMiB: number };

export type Meter = AsyncDisposable & {
  measure<Value>(work: () => Promise<Value>): Promise<Cost & { value: Value; probe: ProbeReport }>;
};

const SETTLE_MS = 15;
/** For the probe to find out which thread answers it. */
const WARM_UP_MS = 1000;

/** Asks `request` of the server at `url` all the time; `pid` is the process whose memory counts. */
export async function startMeter(options: {
  url: URL;
  pid: number;
  request: string;
  mainThread: boolean;
}): Promise<Meter> {
  const { url, pid, request } = options;
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, 'probe.ts'),
      url.hostname,
      url.port,
      request,
      `${pid}`,
      options.mainThread ? 'main' : 'busiest',
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const reports = child.stdout.getReader();
  const take = async (): Promise<ProbeReport> => {
    child.stdin.write('take\n');
    child.stdin.flush();
    const { value } = await reports.read();
    return JSON.parse(Buffer.from(value ?? []).toString()) as ProbeReport;
  };
  await Bun.sleep(WARM_UP_MS);
  await take();
  return {
    async measure(work) {
      await take();
      await resetPeak(pid);
      const before = memoryMiB(pid).now;
      const value = await work();
      await Bun.sleep(SETTLE_MS);
      const probe = await take();
      return { value, probe, stallMs: probe.longestMs, memoryMiB: Math.max(0, memoryMiB(pid).peak - before) };
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}
