// Area A: what a descriptor and a download URL cost beside a bare authenticated route, confirms under load, and one
// large upload. Every metric is a ratio against a floor of the same run.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, eventually, startChild } from '../../test/support/child.ts';
import { type Load, runK6 } from '../lib/k6.ts';
import { memoryMiB, processorMicros, resetPeak } from '../lib/process.ts';

const KEY = 'bench-key-0123456789-0123456789-abcdef';
const WORKSPACE = 'bench';
const IN_FLIGHT = 16;
const ROUNDS = 4;
const ROUND_SECONDS = 5;
const CONFIRMS = 1000;
const CONFIRMS_IN_FLIGHT = 32;
const LARGE_MIB = 1024;

type Server = { url: string; child: Child };

export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-bench-'));
  try {
    const server = await start(folder);
    try {
      await signing(server);
      await confirms(server);
      await largeUpload(server, folder);
    } finally {
      await server.child.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function start(folder: string): Promise<Server> {
  const child = startChild([process.execPath, join(import.meta.dir, 'server.ts')], {
    environment: {
      NODE_ENV: 'production',
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      BOOTSTRAP_WORKSPACE: WORKSPACE,
      BOOTSTRAP_API_KEY: KEY,
      LOG_FORMAT: 'json',
    },
  });
  const url = await eventually('the service to listen', () => /listens on (\S+)/.exec(child.output())?.[1]);
  return { url, child };
}

const headers = { APIKeyHeader: KEY };

type Measured = { load: Load; processorMicros: number };

/** Rounds of the routes take turns, so that whatever else the machine does falls on all of them. */
async function signing(server: Server): Promise<void> {
  const id = await storeOne(server);
  const routes = {
    bare: { urls: [`${server.url}/bench/${WORKSPACE}/bare`], status: 200 },
    descriptor: { urls: [`${server.url}/v1/${WORKSPACE}/presigned/url`], status: 201 },
    'download URL': { urls: [`${server.url}/v1/${WORKSPACE}/file/${id}/download/url`], status: 200 },
  };
  const rounds: Record<string, Measured[]> = {};
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, { urls, status }] of Object.entries(routes)) {
      const before = processorMicros(server.child.pid);
      const load = await runK6(join(import.meta.dir, 'get.js'), {
        URLS: JSON.stringify(urls),
        STATUS: String(status),
        KEY,
        IN_FLIGHT: String(IN_FLIGHT),
        DURATION: `${round === 0 ? 2 : ROUND_SECONDS}s`,
      });
      if (load.failed > 0) throw new Error(`${name}: ${load.failed} answers were not ${status}`);
      const measured = { load, processorMicros: (processorMicros(server.child.pid) - before) / load.count };
      // The first round warms up.
      if (round > 0) rounds[name] = [...(rounds[name] ?? []), measured];
    }
  }
  const floor = rounds['bare'] ?? [];
  console.log(`\nSigning, ${IN_FLIGHT} in flight, median of ${ROUNDS} rounds of ${ROUND_SECONDS} s`);
  console.log('route          req/s  × bare   processor µs  × bare');
  for (const [name, measured] of Object.entries(rounds)) {
    const rate = median(measured.map(({ load }) => load.requestsPerSecond));
    const micros = median(measured.map((each) => each.processorMicros));
    const rateRatio = rate / median(floor.map(({ load }) => load.requestsPerSecond));
    const microsRatio = micros / median(floor.map((each) => each.processorMicros));
    console.log(
      `${name.padEnd(12)} ${rate.toFixed(0).padStart(7)}  ${rateRatio.toFixed(2).padStart(6)}  ${micros.toFixed(1).padStart(13)}  ${microsRatio.toFixed(2).padStart(6)}`,
    );
  }
}

async function confirms(server: Server): Promise<void> {
  const load = await runK6(join(import.meta.dir, 'upload.js'), {
    URL: `${server.url}/v1/${WORKSPACE}`,
    KEY,
    IN_FLIGHT: String(CONFIRMS_IN_FLIGHT),
    UPLOADS: String(CONFIRMS),
  });
  const perSecond = load.requestsPerSecond / 3;
  console.log(`\n${CONFIRMS} whole uploads, ${CONFIRMS_IN_FLIGHT} in flight, embedded store`);
  console.log(`failed checks ${load.failed}; ${perSecond.toFixed(0)} uploads/s (descriptor, form, confirm)`);
}

async function largeUpload(server: Server, folder: string): Promise<void> {
  const file = join(folder, 'large');
  await shell(`head -c ${LARGE_MIB}M /dev/urandom > '${file}'; sync`);
  const floors: number[] = [];
  const uploads: number[] = [];
  await resetPeak(server.child.pid);
  const before = memoryMiB(server.child.pid).now;
  for (let round = 0; round < 3; round++) {
    floors.push(await seconds(() => shell(`cat '${file}' > '${file}.copy'; sync; rm '${file}.copy'`)));
    const { url, fields } = await descriptor(server);
    const form = Object.entries(fields)
      .map(([name, value]) => `-F '${name}=${value}'`)
      .join(' ');
    uploads.push(await seconds(() => shell(`curl -sf -H 'Expect:' ${form} -F 'file=@${file}' '${url}'`)));
  }
  const { peak } = memoryMiB(server.child.pid);
  const rate = (times: number[]): number => LARGE_MIB / median(times);
  console.log(`\n${LARGE_MIB} MiB by form into the embedded store, median of 3`);
  console.log(
    `cat; sync ${rate(floors).toFixed(0)} MiB/s, upload ${rate(uploads).toFixed(0)} MiB/s: ${(rate(uploads) / rate(floors)).toFixed(2)} ×`,
  );
  console.log(
    `resident memory ${before.toFixed(0)} MiB before, ${peak.toFixed(0)} MiB at its peak: +${(peak - before).toFixed(0)} MiB`,
  );
}

async function descriptor(server: Server): Promise<{ url: string; fields: Record<string, string> }> {
  const answer = await fetch(`${server.url}/v1/${WORKSPACE}/presigned/url`, { headers });
  return (await answer.json()) as { url: string; fields: Record<string, string> };
}

async function storeOne(server: Server): Promise<string> {
  const { url, fields } = await descriptor(server);
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob(['one file']), 'f.txt');
  const posted = await fetch(url, { method: 'POST', body: form });
  if (posted.status !== 204) throw new Error(`the form was answered ${posted.status}`);
  const confirmed = await fetch(`${server.url}/v1/${WORKSPACE}/upload/confirm`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ temp_key: fields['key'], document_metadata: { name: 'f.txt' } }),
  });
  return ((await confirmed.json()) as { id: string }).id;
}

async function shell(command: string): Promise<void> {
  const child = Bun.spawn(['bash', '-c', command], { stdio: ['ignore', 'ignore', 'inherit'] });
  if ((await child.exited) !== 0) throw new Error(`failed: ${command.slice(0, 80)}`);
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (
    ((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) + (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) /
    2
  );
}
