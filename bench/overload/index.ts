// A mixed load below, at and beyond what the service can answer: the p99 at 70 % of its capacity, and at twice the capacity how much is
// still answered in time, and how soon probes are. `--seconds 8 --rounds 3`.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { eventually, startChild } from '../../test/support/child.ts';
import { milliseconds, multiple, printTable, verdict, whole } from '../lib/report.ts';
import type { LoadOutcome, LoadSpec } from './load.ts';

const KEY = 'bench-key-0123456789-0123456789-abcdef';
const WORKSPACE = 'bench';
const DOCUMENTS = 300;
/** Enough for every request to wait for nothing but its own work. */
const IDLE_RATE = 20;
const IN_FLIGHT = 32;
const PAUSE_MS = 1500;

type Sent = { weight: number; method: string; path: string; body?: object };

export async function run(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: { seconds: { type: 'string', default: '8' }, rounds: { type: 'string', default: '3' } },
  });
  const seconds = Number(values.seconds);
  const folder = mkdtempSync(join(tmpdir(), 'atrium-overload-'));
  const child = startChild([process.execPath, join(import.meta.dir, '../../src/main.ts')], {
    environment: {
      NODE_ENV: 'production',
      PORT: '0',
      DATA_DIR: folder,
      LOG_FORMAT: 'json',
      CONTENT: 'off',
      BOOTSTRAP_WORKSPACE: WORKSPACE,
      BOOTSTRAP_API_KEY: KEY,
    },
  });
  try {
    const url = await eventually(
      'the service to listen',
      () => /listens on (\S+)\s/.exec(child.output())?.[1],
    );
    const requests = mix(url, await storeDocuments(url));
    const load = (rate: number): Promise<LoadOutcome> =>
      loadOf(
        {
          url,
          seconds,
          rate,
          inFlight: IN_FLIGHT,
          requests,
          probe: render(url, { method: 'GET', path: '/healthz' }),
        },
        join(folder, 'load.json'),
      );
    await load(0);
    const rounds: Round[] = [];
    for (let round = 0; round < Number(values.rounds); round++) rounds.push(await measure(load));
    report(rounds);
  } finally {
    await child.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Round = Record<'idle' | 'closed' | 'below' | 'full' | 'twice', LoadOutcome> & { peak: number };

async function measure(load: (rate: number) => Promise<LoadOutcome>): Promise<Round> {
  const idle = await load(IDLE_RATE);
  const closed = await load(0);
  const capacity = closed.goodput;
  const below = await load(0.7 * capacity);
  const full = await load(capacity);
  await Bun.sleep(PAUSE_MS);
  const twice = await load(2 * capacity);
  await Bun.sleep(PAUSE_MS);
  return { idle, closed, below, full, twice, peak: Math.max(capacity, below.goodput, full.goodput) };
}

function report(rounds: readonly Round[]): void {
  const phases = ['idle', 'closed', 'below', 'full', 'twice'] as const;
  for (const [at, round] of rounds.entries()) {
    printTable(
      `Round ${at + 1}: requests a second, milliseconds`,
      ['load', 'answered', 'in time', 'p50', 'p99', 'probe p99', 'probe max', 'generator', 'statuses'],
      phases.map((phase) => {
        const { answered, goodput, p50, p99, probeP99, probeMax, processor, statuses } = round[phase];
        const times = [p50, p99, probeP99, probeMax].map(milliseconds);
        return [
          NAMES[phase],
          whole(answered),
          whole(goodput),
          ...times,
          processor.toFixed(2),
          JSON.stringify(statuses),
        ];
      }),
    );
  }
  const medianOf = (value: (round: Round) => number): number => {
    const sorted = rounds.map(value).sort((one, other) => one - other);
    return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  };
  const slower = medianOf(({ below, idle }) => below.p99 / idle.p99);
  const kept = medianOf(({ twice, peak }) => twice.goodput / peak);
  const probe = medianOf(({ twice }) => twice.probeP99);
  console.log(`\nMedians of ${rounds.length} rounds`);
  console.log(`p99 at 70 % of the capacity, of the idle p99: ${multiple(slower)} (${verdict([slower], 5)})`);
  console.log(
    `goodput at twice the capacity, of the peak: ${kept.toFixed(2)} × (≥ 0.5 ×: ${kept >= 0.5 ? 'met' : '**missed**'})`,
  );
  console.log(`p99 of /healthz meanwhile: ${milliseconds(probe)} ms (${verdict([probe], 100, 'ms')})`);
}

const NAMES = {
  idle: `idle (${IDLE_RATE} a second)`,
  closed: `capacity (${IN_FLIGHT} in flight)`,
  below: '70 %',
  full: '100 %',
  twice: '200 %',
};

/** A working day in small: every kind of request as often as its weight. */
function mix(url: string, names: readonly string[]): string[] {
  const some = (at: number): string => names[at % names.length] as string;
  const kinds = (at: number): Sent[] => [
    { weight: 5, method: 'GET', path: `/v1/${WORKSPACE}/presigned/url` },
    { weight: 5, method: 'GET', path: `/v1/metadata/${WORKSPACE}/${some(at)}/detail` },
    { weight: 4, method: 'GET', path: `/v1/filter/${WORKSPACE}?size=20` },
    {
      weight: 2,
      method: 'PUT',
      path: `/v1/metadata/${WORKSPACE}/${some(at)}`,
      body: { summary: `Summary ${at}` },
    },
    {
      weight: 2,
      method: 'POST',
      path: '/v1/chat/completions',
      body: { model: 'local-echo', messages: [{ role: 'user', content: `Good morning ${at}` }] },
    },
    {
      weight: 2,
      method: 'POST',
      path: '/v1/embeddings',
      body: { model: 'local-multilingual-e1', input: `A text about gaskets ${at}` },
    },
  ];
  const requests: string[] = [];
  for (let at = 0; at < names.length; at++) {
    const turn = kinds(at).flatMap((kind) => Array.from({ length: kind.weight }, () => render(url, kind)));
    // Kinds alternate, in an order that is the same in each run.
    for (let step = 0; step < turn.length; step++) requests.push(turn[(step * 7) % turn.length] as string);
  }
  return requests;
}

function render(url: string, { method, path, body }: Omit<Sent, 'weight'>): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    `APIKeyHeader: ${KEY}`,
    `authorization: Bearer ${KEY}`,
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${text.length}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

/** Returns their ids. */
async function storeDocuments(url: string): Promise<string[]> {
  const headers = { APIKeyHeader: KEY, 'content-type': 'application/json' };
  const ids: string[] = [];
  for (let at = 0; at < DOCUMENTS; at++) {
    const described = await fetch(`${url}/v1/${WORKSPACE}/presigned/url`, { headers });
    const { url: store, fields } = (await described.json()) as {
      url: string;
      fields: Record<string, string>;
    };
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append('file', new Blob([`text ${at}`]), `file-${at}.txt`);
    const posted = await fetch(store, { method: 'POST', body: form });
    if (!posted.ok) throw new Error(`the store answered ${posted.status}: ${await posted.text()}`);
    const body = JSON.stringify({ temp_key: fields['key'], document_metadata: { name: `file-${at}.txt` } });
    const confirmed = await fetch(`${url}/v1/${WORKSPACE}/upload/confirm`, { method: 'POST', headers, body });
    if (!confirmed.ok) throw new Error(`confirm answered ${confirmed.status}: ${await confirmed.text()}`);
    ids.push(((await confirmed.json()) as { id: string }).id);
  }
  return ids;
}

async function loadOf(spec: LoadSpec, file: string): Promise<LoadOutcome> {
  writeFileSync(file, JSON.stringify(spec));
  const child = startChild([process.execPath, join(import.meta.dir, 'load.ts'), file]);
  await child.exited;
  const line = child.output().trim().split('\n').at(-1) ?? '';
  return JSON.parse(line) as LoadOutcome;
}
