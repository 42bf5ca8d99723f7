// How fast events are taken over HTTP and stored, beside what the database alone takes in the same run, and how soon
// they can be read.

import { processorMicros } from '../lib/process.ts';
import { milliseconds, printTable, whole } from '../lib/report.ts';
import { measureCeiling } from './ceiling.ts';
import { type BufferName, drained, type Load, type Setting, startSetting, waitingPacks } from './setting.ts';

/**
 * `shares`: of the ceiling, that are to be reached. `isPaced`: a tenth faster than that, so that it shows whether the sink keeps up; else as
 * fast as is answered.
 */
type Target = {
  name: string;
  load: Omit<Load, 'seconds'>;
  shares: Record<BufferName, number>;
  isPaced: boolean;
};

const LOADS: readonly Target[] = [
  {
    name: 'batches of 100, 16 in flight',
    load: { batch: 100, flight: 16 },
    shares: { journal: 0.55, JetStream: 0.55 },
    isPaced: true,
  },
  {
    name: 'single events, 64 in flight',
    load: { batch: 1, flight: 64 },
    shares: { journal: 0.15, JetStream: 0.15 },
    isPaced: false,
  },
];
const PACE_OF_SHARE = 1.1;
const PROBE_PAUSE_MS = 40;
const PROBE_POLL_MS = 5;

export async function measureIngestion(buffers: readonly BufferName[], seconds: number): Promise<void> {
  for (const buffer of buffers) {
    await using setting = await startSetting(buffer);
    await setting.send({ batch: 100, flight: 8, seconds: 3 });
    await drained(setting);
    const rows: string[][] = [];
    let half = 0;
    for (const { name, load, shares, isPaced } of LOADS) {
      const share = shares[buffer];
      const { perSecond: ceiling } = await measureCeiling(setting.databaseUrl);
      const rate = isPaced ? { rate: Math.round(ceiling * share * PACE_OF_SHARE) } : {};
      const measured = await measureLoad(setting, { ...load, ...rate, seconds });
      const reached = measured.stored / ceiling;
      if (half === 0) half = measured.stored / 2;
      const kept = reached >= share ? 'met' : '**missed**';
      const { taken, stored, p50, p99, backlog, cores } = measured;
      const metrics = [
        whole(taken),
        whole(stored),
        whole(ceiling),
        reached.toFixed(2),
        `${milliseconds(p50)} · ${milliseconds(p99)}`,
      ];
      rows.push([name, ...metrics, whole(backlog), cores.toFixed(2), `≥ ${share}: ${kept}`]);
    }
    printTable(
      `Over ${buffer}; the ceiling is COPY and INSERT alone, measured before each load`,
      [
        'load',
        'acknowledged/s',
        'stored/s',
        'ceiling/s',
        'of the ceiling',
        'answer p50 · p99 ms',
        'packs left at the end',
        'cores of the service',
        'target',
      ],
      rows,
    );
    await measureFreshness(setting, { buffer, rate: half, seconds });
  }
}

/** Stored: what the database gained while the load lasted, the backlog's growth so left out. */
async function measureLoad(setting: Setting, load: Load) {
  const before = await countStored(setting);
  const startedAt = performance.now();
  const cpu = processorMicros(setting.service.child.pid);
  const sent = await setting.send(load);
  const elapsed = (performance.now() - startedAt) / 1000;
  const cores = (processorMicros(setting.service.child.pid) - cpu) / 1_000_000 / elapsed;
  const gained = (await countStored(setting)) - before;
  const backlog = await waitingPacks(setting);
  await drained(setting);
  if (sent.refused > 0) console.log(`${sent.refused} events were refused`);
  return {
    taken: sent.accepted / sent.seconds,
    stored: gained / elapsed,
    backlog,
    cores,
    p50: sent.p50,
    p99: sent.p99,
  };
}

async function countStored({ sql }: Setting): Promise<number> {
  const [row] = await sql<
    { events: number }[]
  >`SELECT coalesce(sum(events), 0)::bigint AS events FROM usage_counts WHERE grain = 86400`;
  return row?.events ?? 0;
}

/** Single events among the load, each asked for until it is there. */
async function measureFreshness(
  setting: Setting,
  { buffer, rate, seconds }: { buffer: BufferName; rate: number; seconds: number },
): Promise<void> {
  const load = setting.send({ batch: 100, flight: 16, seconds, rate });
  const endsAt = performance.now() + (seconds - 1) * 1000;
  const delays: number[] = [];
  const [{ workspace = '', key = '' } = {}] = setting.targets;
  const root = `${setting.service.url}/api/v1/workspace_metric/${workspace}`;
  const probe = async (): Promise<void> => {
    const from = new Date(Date.now() - 1).toISOString().slice(0, -1);
    const id = crypto.randomUUID();
    await fetch(`${root}/events?authorization=${key}`, {
      method: 'POST',
      headers: { 'content-type': 'application/cloudevents+json' },
      body: JSON.stringify({ specversion: '1.0', id, source: `probe-${id}`, type: 'probe' }),
    });
    const acknowledgedAt = performance.now();
    const query = `authorization=${key}&group_by=source&type=probe&from_date=${from}`;
    for (;;) {
      const { items } = (await (await fetch(`${root}/summary?${query}`)).json()) as {
        items: { key: string }[];
      };
      if (items.some((item) => item.key === `probe-${id}`)) break;
      await Bun.sleep(PROBE_POLL_MS);
    }
    delays.push(performance.now() - acknowledgedAt);
  };
  while (performance.now() < endsAt) {
    await probe();
    await Bun.sleep(PROBE_PAUSE_MS);
  }
  await load;
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const kept = at(0.99) <= 1000 ? 'met' : '**missed**';
  printTable(
    `Over ${buffer}: from the 202 to being readable, at ${whole(rate)} events/s, ${delays.length} probes`,
    ['p50', 'p99', 'target'],
    [[`${milliseconds(at(0.5))} ms`, `${milliseconds(at(0.99))} ms`, `p99 ≤ 1 s: ${kept}`]],
  );
  await drained(setting);
}
