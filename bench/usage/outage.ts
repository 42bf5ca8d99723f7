// Five minutes without the database, events coming all the while.

import { memoryMiB, resetPeak } from '../lib/process.ts';
import { printTable, whole } from '../lib/report.ts';
import { type BufferName, startSetting } from './setting.ts';

const RATE = 10_000;

export async function measureOutage(buffers: readonly BufferName[], seconds: number): Promise<void> {
  const rows: string[][] = [];
  for (const buffer of buffers) {
    await using setting = await startSetting(buffer);
    const { pid } = setting.service.child;
    await setting.send({ batch: 100, flight: 8, seconds: 20, rate: RATE });
    const before = memoryMiB(pid).now;
    await resetPeak(pid);
    const servers = postgresProcesses(pid);
    for (const server of servers) process.kill(server, 'SIGSTOP');
    const sent = await setting.send({ batch: 100, flight: 8, seconds, rate: RATE });
    const after = memoryMiB(pid);
    for (const server of servers) process.kill(server, 'SIGCONT');
    const resumedAt = performance.now();
    const answer = async () =>
      (await (await fetch(`${setting.service.url}/readyz`)).json()) as {
        services: Record<string, { waiting_packs?: number }>;
      };
    while (((await answer()).services['usage_events']?.waiting_packs ?? 1) > 0) await Bun.sleep(100);
    const drainedSeconds = (performance.now() - resumedAt) / 1000;
    rows.push([
      buffer,
      `${whole(sent.accepted)} taken, ${whole(sent.refused)} refused`,
      `${whole(before)} MiB`,
      `${whole(after.peak)} MiB`,
      `${whole(memoryMiB(pid).now)} MiB`,
      `${drainedSeconds.toFixed(0)} s`,
    ]);
  }
  printTable(
    `${seconds} s without the database at ${whole(RATE)} events/s`,
    ['buffer', 'events', 'memory before', 'peak during it', 'after draining', 'drained after'],
    rows,
  );
}

/** The server and its children. */
function postgresProcesses(service: number): number[] {
  const children = (pid: number): number[] =>
    Bun.spawnSync(['ps', '-o', 'pid=', '--ppid', `${pid}`])
      .stdout.toString()
      .trim()
      .split(/\s+/)
      .filter(Boolean)
      .map(Number);
  return children(service).flatMap((pid) => [pid, ...children(pid)]);
}
