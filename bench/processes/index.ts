// What a second process gives: the service with PROCESSES=1 and with 2, on one machine with its load generator, asked in turn.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startMockUpstream } from '../../test/support/mock-upstream.ts';
import { median } from '../compute/statistics.ts';
import { fill } from '../everyday/operations.ts';
import { KEY, WORKSPACE } from '../everyday/side.ts';
import { modelsFile } from '../gateway/models.ts';
import { BODY } from '../gateway/small.ts';
import { familyOf, processMicros } from '../lib/process.ts';
import { printTable, whole } from '../lib/report.ts';
import { build, startBuilt } from '../lib/service.ts';

const IN_FLIGHT = 64;
/** What costs less is not promised to gain. */
const DEAR_MICROS = 50;

type Kind = { name: string; path(documents: readonly string[]): string; method: string; body: string };

const KINDS: readonly Kind[] = [
  { name: 'root', method: 'GET', path: () => '/', body: '' },
  {
    name: 'detail by id',
    method: 'GET',
    path: ([first]) => `/v1/metadata/${WORKSPACE}/${first}/detail`,
    body: '',
  },
  {
    name: 'search, 43 found',
    method: 'GET',
    path: () => `/v1/filter/${WORKSPACE}?tags=any:t1`,
    body: '',
  },
  { name: 'call of a model', method: 'POST', path: () => '/v1/chat/completions', body: BODY },
];

type Side = { processes: number; url: string; pid: number; documents: readonly string[] };
type Measured = { perSecond: number; service: number; postgres: number; busy: number };

export async function run(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '2' } },
  });
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  build();
  const folder = mkdtempSync(join(tmpdir(), 'atrium-bench-processes-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const mock = stack.use(await startMockUpstream());
  const models = join(folder, 'models.yaml');
  await Bun.write(models, modelsFile(mock.url));
  const sides: Side[] = [];
  for (const processes of [1, 2]) {
    const service = stack.use(
      await startBuilt({
        folder,
        dataDir: join(folder, `data-${processes}`),
        environment: {
          PROCESSES: String(processes),
          MODELS_CONFIG: models,
          BOOTSTRAP_WORKSPACE: WORKSPACE,
          BOOTSTRAP_API_KEY: KEY,
          CONTENT: 'off',
        },
      }),
    );
    const { documents } = await fill(service.url);
    sides.push({ processes, url: service.url, pid: service.pid, documents });
  }
  const rows: string[][] = [];
  for (const kind of KINDS) {
    const measured: Measured[][] = sides.map(() => []);
    for (let round = 0; round <= rounds; round++)
      for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const slot = await measure(folder, sides[at] as Side, kind, seconds);
        // The first round warms up.
        if (round > 0) measured[at]?.push(slot);
      }
    rows.push(...rowsOf(kind, measured));
  }
  printTable(
    `${IN_FLIGHT} in flight, ${navigator.hardwareConcurrency} cores, medians of ${rounds} rounds of ${seconds} s that take turns`,
    ['', 'processes', 'a second', 'service µs', 'Postgres µs', 'of the machine in use', 'growth', 'target'],
    rows,
  );
}

function rowsOf({ name }: Kind, measured: readonly (readonly Measured[])[]): string[][] {
  const [one = [], two = []] = measured;
  const growth = median(two.map(({ perSecond }, round) => perSecond / (one[round]?.perSecond ?? Number.NaN)));
  return measured.map((rounds, at) => {
    const of = (value: (each: Measured) => number): number => median(rounds.map(value));
    const isDear = median(one.map(({ service }) => service)) > DEAR_MICROS;
    const target = isDear ? `≥ 1.6 ×: ${growth >= 1.6 ? 'met' : '**missed**'}` : '';
    return [
      at === 0 ? name : '',
      String(at + 1),
      whole(of(({ perSecond }) => perSecond)),
      whole(of(({ service }) => service)),
      whole(of(({ postgres }) => postgres)),
      `${whole(of(({ busy }) => busy) * 100)} %`,
      at === 0 ? '' : `${growth.toFixed(2)} ×`,
      at === 0 ? '' : target,
    ];
  });
}

/** Asks one side for so long; what its processes used is counted besides. */
async function measure(folder: string, side: Side, kind: Kind, seconds: number): Promise<Measured> {
  const body = join(folder, 'body');
  await Bun.write(body, kind.body);
  const [before, machineBefore] = [usedBy(side.pid), machine()];
  const words = ['--url', `${side.url}${kind.path(side.documents)}`, '--method', kind.method, '--body', body];
  const sender = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, '../gateway/sender.ts'),
      ...words,
      '--key',
      KEY,
      '--header',
      `APIKeyHeader: ${KEY}`,
      '--flight',
      String(IN_FLIGHT),
      '--seconds',
      String(seconds),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const sent = JSON.parse(await new Response(sender.stdout).text()) as Record<string, number>;
  const { count = 0, failed = 0, seconds: took = 1 } = sent;
  if (failed > 0) throw new Error(`${kind.name}: ${failed} of ${count} failed`);
  const [after, machineAfter] = [usedBy(side.pid), machine()];
  return {
    perSecond: count / took,
    service: (after.service - before.service) / count,
    postgres: (after.postgres - before.postgres) / count,
    busy: (machineAfter.busy - machineBefore.busy) / (machineAfter.all - machineBefore.all),
  };
}

/** Microseconds of all processes of a service, and of its Postgres. */
function usedBy(pid: number): { service: number; postgres: number } {
  const used = { service: 0, postgres: 0 };
  for (const each of familyOf(pid)) {
    const isPostgres = readFileSync(`/proc/${each}/comm`, 'utf8') === 'postgres\n';
    used[isPostgres ? 'postgres' : 'service'] += processMicros(each);
  }
  return used;
}

/** Ticks of all processors since the start of the machine (proc(5), stat), those in which a hypervisor ran others included. */
function machine(): { busy: number; all: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const ticks = line.split(/ +/).slice(1, 9).map(Number);
  const all = ticks.reduce((sum, each) => sum + each, 0);
  const [idle = 0, waiting = 0] = ticks.slice(3, 5);
  return { busy: all - idle - waiting, all };
}
