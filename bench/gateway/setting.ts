// The mock, the floor before it and the gateway before it: three processes that are asked the same in turn.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort } from '../../test/support/child.ts';
import { startMockUpstream } from '../../test/support/mock-upstream.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../test/support/service.ts';
import { processorMicros } from '../lib/process.ts';
import { LIMITS, modelsFile } from './models.ts';

export type SideName = 'mock' | 'floor' | 'gateway';
export type Side = { name: string; url: string; pid: number; key: string };
export type Sent = {
  count: number;
  failed: number;
  seconds: number;
  p50: number;
  p99: number;
  firstP50: number;
};
export type Measured = Sent & { perSecond: number; microsPerRequest: number };

export type Setting = AsyncDisposable & { sides: Record<SideName, Side>; folder: string };

const ROOT = join(import.meta.dir, '../..');

/** As `bun run start` starts it: without the limit of concurrent fetches, its log written to nowhere. */
const ENVIRONMENT = {
  NODE_ENV: 'production',
  UV_THREADPOOL_SIZE: '64',
  BUN_CONFIG_MAX_HTTP_REQUESTS: '16384',
};

export async function startSetting(): Promise<Setting> {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-gateway-'));
  const mock = await startMockUpstream();
  const models = join(folder, 'models.yaml');
  await Bun.write(models, modelsFile(mock.url));
  const floor = Bun.spawn([process.execPath, join(import.meta.dir, 'floor.ts'), mock.url], {
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { value } = await floor.stdout.getReader().read();
  const port = freePort();
  const gateway = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts')], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...ENVIRONMENT,
      PORT: String(port),
      DATA_DIR: join(folder, 'data'),
      MODELS_CONFIG: models,
      LOG_FORMAT: 'json',
      BOOTSTRAP_WORKSPACE: WORKSPACE,
      BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
    },
    stdio: ['ignore', Bun.file('/dev/null'), 'inherit'],
  });
  // Also where what follows fails.
  process.on('exit', () => {
    for (const child of [gateway, floor]) child.kill('SIGTERM');
  });
  const url = `http://127.0.0.1:${port}`;
  const floorUrl = `http://127.0.0.1:${Buffer.from(value ?? [])
    .toString()
    .trim()}`;
  return {
    folder,
    sides: {
      mock: { name: 'mock', url: mock.url, pid: mock.pid, key: 'none' },
      floor: { name: 'floor', url: floorUrl, pid: floor.pid, key: 'none' },
      gateway: {
        name: 'gateway',
        url,
        pid: gateway.pid,
        key: await eventually('the gateway', () => limitedKey(url)),
      },
    },
    async [Symbol.asyncDispose]() {
      gateway.kill('SIGTERM');
      floor.kill();
      await gateway.exited;
      await mock.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A key with every limit, none of which is reached; undefined while the gateway is not there yet. */
async function limitedKey(url: string): Promise<string | undefined> {
  const answer = await fetch(`${url}/admin/api/workspaces/${WORKSPACE}/keys`, {
    method: 'POST',
    headers: { APIKeyHeader: BOOTSTRAP_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', scopes: ['models'], limits: LIMITS }),
  }).catch(() => undefined);
  return answer?.status === 201 ? ((await answer.json()) as { key: string }).key : undefined;
}

export type Load = { body: string; flight: number; seconds?: number; count?: number };

/** Sends the body to one side; what its process used is counted besides. */
export async function send({ folder }: Setting, side: Side, load: Load): Promise<Measured> {
  const file = join(folder, 'body.json');
  await Bun.write(file, load.body);
  const before = processorMicros(side.pid);
  const sender = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, 'sender.ts'),
      '--url',
      `${side.url}/v1/chat/completions`,
      '--key',
      side.key,
      '--body',
      file,
      '--flight',
      String(load.flight),
      '--seconds',
      String(load.seconds ?? 3),
      '--count',
      String(load.count ?? 0),
    ],
    { env: { ...process.env, ...ENVIRONMENT }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const sent = JSON.parse(await new Response(sender.stdout).text()) as Sent;
  if (sent.failed > 0) throw new Error(`${side.name}: ${sent.failed} of ${sent.count} failed`);
  const micros = processorMicros(side.pid) - before;
  return { ...sent, perSecond: sent.count / sent.seconds, microsPerRequest: micros / sent.count };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
