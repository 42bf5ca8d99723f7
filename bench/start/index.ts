// How fast a start on an existing data folder is beside that of its Postgres alone, and how much memory the service needs while
// no client uses it: in all with the embedded parts, and by itself with external servers.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../../src/embedded/postgres/index.ts';
import { silentLog } from '../../test/support/database.ts';
import { missingNats, startNats } from '../../test/support/nats-server.ts';
import { missingStore, startRealStore } from '../../test/support/object-stores.ts';
import { startPostgresServer } from '../../test/support/postgres-server.ts';
import { familyMemory } from '../lib/process.ts';
import { printTable, verdict, whole } from '../lib/report.ts';
import { build, startBuilt } from '../lib/service.ts';

const PARTS = ['warm', 'embedded', 'real'] as const;
const OPTIONS = {
  rounds: { type: 'string', default: '11' },
  /** Of idleness, before memory is read. */
  seconds: { type: 'string', default: '60' },
  parts: { type: 'string', default: PARTS.join(',') },
} as const;

const WARM_TIMES_MAX = 2.5;
const EMBEDDED_MIB_MAX = 250;
const SERVICE_MIB_MAX = 120;

export async function run(): Promise<void> {
  const { values } = parseArgs({ args: process.argv.slice(3), options: OPTIONS });
  const parts = values.parts.split(',');
  const seconds = Number(values.seconds);
  const folder = mkdtempSync(join(tmpdir(), 'atrium-bench-start-'));
  try {
    build();
    if (parts.includes('warm')) await measureWarm(folder, Number(values.rounds));
    if (parts.includes('embedded')) await measureEmbedded(folder, seconds);
    if (parts.includes('real')) await measureReal(folder, seconds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const median = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? Number.NaN;

/** The two take turns on one folder, so that whatever else the machine does falls on both. */
async function measureWarm(folder: string, rounds: number): Promise<void> {
  const [bare, service]: [number[], number[]] = [[], []];
  const directory = join(folder, 'data/postgres');
  // The first start makes the folder, and the first round fills the caches.
  await (await startBuilt({ folder }))[Symbol.asyncDispose]();
  for (let round = 0; round <= rounds; round++) {
    const startedAt = performance.now();
    const postgres = await startPostgres({ directory, log: silentLog });
    const bareMs = performance.now() - startedAt;
    await postgres.stop();
    const started = await startBuilt({ folder });
    await started[Symbol.asyncDispose]();
    if (round === 0) continue;
    bare.push(bareMs);
    service.push(started.readyMs);
  }
  const ratio = median(service.map((ms, round) => ms / (bare[round] ?? Number.NaN)));
  printTable(
    `A warm start, ms, medians of ${rounds} rounds; the ratio is that of the rounds`,
    [
      'its Postgres alone, until it takes connections',
      'the service, until /healthz answers',
      'ratio',
      'target',
    ],
    [
      [
        whole(median(bare)),
        whole(median(service)),
        `${ratio.toFixed(2)} ×`,
        verdict([ratio], WARM_TIMES_MAX),
      ],
    ],
  );
}

const NOTE = 'MiB, proportional (PSS): pages that several processes share are counted once';

async function measureEmbedded(folder: string, seconds: number): Promise<void> {
  await using service = await startBuilt({ folder });
  await Bun.sleep(seconds * 1000);
  const memory = familyMemory(service.pid);
  printTable(
    `Embedded parts, after ${seconds} s without a request; ${NOTE}`,
    ['the service', 'the processes of Postgres', 'its shared buffers', 'in all', 'target'],
    [
      [
        ...[memory.service, memory.children, memory.buffers, memory.total].map(whole),
        verdict([memory.total], EMBEDDED_MIB_MAX, 'MiB'),
      ],
    ],
  );
}

async function measureReal(folder: string, seconds: number): Promise<void> {
  const missing = missingStore('versitygw') ?? missingNats();
  if (missing !== undefined) return console.log(`\nNot measured with real servers: ${missing}`);
  await using postgres = await startPostgresServer();
  await using nats = await startNats();
  const store = await startRealStore('versitygw');
  try {
    await using service = await startBuilt({
      folder,
      dataDir: join(folder, 'real'),
      environment: {
        DATABASE_URL: postgres.url,
        NATS_URL: nats.url,
        NATS_MONITOR_URL: nats.monitorUrl,
        ...store.environment,
      },
    });
    await Bun.sleep(seconds * 1000);
    const { service: own, children } = familyMemory(service.pid);
    printTable(
      `The service alone, with Postgres, Versity and NATS beside it, after ${seconds} s without a request; ${NOTE}`,
      ['the service', 'its children', 'target'],
      [[whole(own), whole(children), verdict([own + children], SERVICE_MIB_MAX, 'MiB')]],
    );
  } finally {
    await store.stop();
  }
}
