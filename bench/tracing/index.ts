// What tracing costs: processor time of the service for each request, without tracing, and with a tenth of the traces sampled and exported to a
// collector that takes them. `--before PATH` adds both of another tree, such as that of an earlier commit. The services take turns in many
// short rounds, so that whatever else the machine does falls on all of them, and begin after the runtime has compiled what they run.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { eventually, freePort } from '../../test/support/child.ts';
import { startMockUpstream } from '../../test/support/mock-upstream.ts';
import { startOtlpReceiver } from '../../test/support/otlp-receiver.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../test/support/service.ts';
import { processorMicros } from '../lib/process.ts';
import { printTable, verdict } from '../lib/report.ts';

const ROUNDS = 24;
const WARM_UP = 20_000;
const IN_FLIGHT = 16;
const SAMPLED = '0.1';
/** The upstream answers it at once. */
const MODEL = 'fast';

type Route = { name: string; path: string; body?: object };
const REQUESTS = 1200;
const ROUTES: readonly Route[] = [
  { name: 'list of models', path: '/v1/models' },
  { name: 'descriptor', path: `/v1/${WORKSPACE}/presigned/url` },
  {
    name: 'gateway, pass-through',
    path: '/v1/chat/completions',
    body: { model: MODEL, messages: [{ role: 'user', content: 'Good morning' }] },
  },
];

type Side = { name: string; url: string; pid: number; end(): Promise<void> };

async function startSide(
  name: string,
  {
    root,
    folder,
    models,
    environment,
  }: { root: string; folder: string; models: string; environment: object },
): Promise<Side> {
  const port = freePort();
  const child = Bun.spawn([process.execPath, join(root, 'src/main.ts')], {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_ENV: 'production',
      LOG_FORMAT: 'json',
      UV_THREADPOOL_SIZE: '64',
      BUN_CONFIG_MAX_HTTP_REQUESTS: '16384',
      PORT: String(port),
      DATA_DIR: join(folder, name.replaceAll(/\W/g, '-')),
      MODELS_CONFIG: models,
      BOOTSTRAP_WORKSPACE: WORKSPACE,
      BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
      ...environment,
    },
    stdio: ['ignore', Bun.file('/dev/null'), 'inherit'],
  });
  process.on('exit', () => child.kill('SIGTERM'));
  const url = `http://127.0.0.1:${port}`;
  await eventually(name, () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    name,
    url,
    pid: child.pid,
    async end() {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

/** Sends the requests over connections that are kept; throws where one fails. */
async function send({ url }: Side, { path, body }: Route, requests: number): Promise<void> {
  let left = requests;
  const loop = async (): Promise<void> => {
    while (left-- > 0) {
      const response = await fetch(`${url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          apikeyheader: BOOTSTRAP_KEY,
          authorization: `Bearer ${BOOTSTRAP_KEY}`,
          'content-type': 'application/json',
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, loop));
}

/** Microseconds of processor time for each request, all threads. */
async function measure(side: Side, route: Route): Promise<number> {
  const before = processorMicros(side.pid);
  await send(side, route, REQUESTS);
  return (processorMicros(side.pid) - before) / REQUESTS;
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
const percent = (ratio: number): string =>
  `${ratio < 1 ? '−' : '+'}${Math.abs((ratio - 1) * 100).toFixed(1)} %`;

async function compare(route: Route, sides: readonly Side[]): Promise<string[]> {
  const rounds = sides.map((): number[] => []);
  for (const side of sides) await send(side, route, WARM_UP);
  for (let round = 0; round < ROUNDS; round++) {
    // Each begins as often as any other.
    for (let turn = 0; turn < sides.length; turn++) {
      const at = (round + turn) % sides.length;
      rounds[at]?.push(await measure(sides[at] as Side, route));
    }
  }
  // Of each tree, off and sampled are beside one another.
  const ratios = rounds.flatMap((values, at) => {
    const off = rounds[at - 1];
    return at % 2 === 0 || off === undefined
      ? []
      : median(values.map((value, round) => value / (off[round] ?? 1)));
  });
  return [
    route.name,
    ...rounds.map((values) => `${median(values).toFixed(1)} µs`),
    ...ratios.map(percent),
    verdict([((ratios.at(-1) ?? 1) - 1) * 100], 5, '%'),
  ];
}

export async function run(): Promise<void> {
  const { values } = parseArgs({ args: process.argv.slice(3), options: { before: { type: 'string' } } });
  const folder = mkdtempSync(join(tmpdir(), 'atrium-tracing-'));
  const mock = await startMockUpstream();
  await using collector = startOtlpReceiver();
  const models = join(folder, 'models.yaml');
  const targets = [{ upstream: 'mock', model: MODEL }];
  await Bun.write(
    models,
    JSON.stringify({
      upstreams: { mock: { base_url: `${mock.url}/v1`, retries: 0 } },
      models: { [MODEL]: { endpoints: ['chat'], targets } },
    }),
  );
  const common = { root: join(import.meta.dir, '../..'), folder, models, environment: {} };
  const tracing = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: SAMPLED,
    OTEL_BSP_SCHEDULE_DELAY: '1000',
  };
  const sides: Side[] = [];
  try {
    if (values.before !== undefined) {
      const before = { ...common, root: values.before };
      sides.push(await startSide('before, off', before));
      sides.push(await startSide('before, 10 %', { ...before, environment: tracing }));
    }
    sides.push(await startSide('off', common));
    sides.push(await startSide('10 %', { ...common, environment: tracing }));
    const rows: string[][] = [];
    for (const route of ROUTES) rows.push(await compare(route, sides));
    const names = sides.map(({ name }) => name);
    printTable(
      `Processor time of the service for each request; ${ROUNDS} rounds, medians`,
      [
        'request',
        ...names,
        ...names.filter((_, at) => at % 2 === 1).map((name) => `${name} against off`),
        'target',
      ],
      rows,
    );
    console.log(`\n${collector.spans.length} spans were received.`);
  } finally {
    await Promise.all(sides.map((side) => side.end()));
    await mock.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
