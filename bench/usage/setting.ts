// The service under load, with one buffer or the other, and a way into its database.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readConnection } from '../../src/embedded/postgres/index.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { startChild } from '../../test/support/child.ts';
import { silentLog } from '../../test/support/database.ts';
import { type NatsServer, startNats } from '../../test/support/nats-server.ts';
import { BOOTSTRAP_KEY, type RunningService, startService } from '../../test/support/service.ts';

export type BufferName = 'journal' | 'JetStream';

export type Setting = AsyncDisposable & {
  service: RunningService;
  sql: Sql;
  databaseUrl: string;
  dataDir: string;
  targets: readonly Target[];
  send(load: Load): Promise<Sent>;
};

export type Load = { batch: number; flight: number; seconds: number; rate?: number };
export type Sent = { accepted: number; refused: number; seconds: number; p50: number; p99: number };

/** On a disk, not in memory, even where /tmp is. */
const FOLDER = join(import.meta.dir, '../.data-usage-');
/** Few enough that one has a million events soon. */
const WORKSPACES = 4;

export async function startSetting(buffer: BufferName): Promise<Setting> {
  const dataDir = mkdtempSync(FOLDER);
  let nats: NatsServer | undefined;
  let service: RunningService | undefined;
  const stop = async (): Promise<void> => {
    await service?.[Symbol.asyncDispose]();
    await nats?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    nats = buffer === 'JetStream' ? await startNats() : undefined;
    const environment = nats === undefined ? {} : { NATS_URL: nats.url, NATS_MONITOR_URL: nats.monitorUrl };
    service = await startService({ dataDir, environment });
    const databaseUrl = readConnection(join(dataDir, 'postgres')) ?? '';
    const sql = connectPostgres({
      url: databaseUrl,
      applicationName: 'bench',
      log: silentLog,
      statementTimeoutMs: 0,
    });
    const { url } = service;
    const targets = await makeTargets(url);
    return {
      service,
      sql,
      databaseUrl,
      dataDir,
      targets,
      send: (load) => send(url, targets, load),
      async [Symbol.asyncDispose]() {
        await sql.end({ timeout: 1 });
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export type Target = { workspace: string; key: string };

/** Workspaces with a key for their metrics each. */
async function makeTargets(url: string): Promise<Target[]> {
  const post = async (path: string, body: object): Promise<{ key?: string }> => {
    const answer = await fetch(`${url}/admin/api/workspaces${path}`, {
      method: 'POST',
      headers: { APIKeyHeader: BOOTSTRAP_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (answer.status !== 201) throw new Error(await answer.text());
    return (await answer.json()) as { key?: string };
  };
  const targets: Target[] = [];
  for (let index = 0; index < WORKSPACES; index++) {
    const workspace = `bench-${index}`;
    await post('', { id: workspace });
    const { key = '' } = await post(`/${workspace}/keys`, { name: 'bench', scopes: ['metrics'] });
    targets.push({ workspace, key });
  }
  return targets;
}

async function send(
  url: string,
  targets: readonly Target[],
  { batch, flight, seconds, rate = 0 }: Load,
): Promise<Sent> {
  const named = targets.map(({ workspace, key }) => `${workspace}=${key}`).join(',');
  const options = { url, targets: named, batch, flight, seconds, rate };
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const child = startChild([process.execPath, join(import.meta.dir, 'sender.ts'), ...words]);
  if ((await child.exited) !== 0) throw new Error(`the sender failed: ${child.output()}`);
  return JSON.parse(child.output()) as Sent;
}

/** Packs that the database does not have yet. */
export async function waitingPacks({ service }: Setting): Promise<number> {
  const ready = (await (await fetch(`${service.url}/readyz`)).json()) as {
    services: Record<string, { waiting_packs?: number }>;
  };
  return ready.services['usage_events']?.waiting_packs ?? 0;
}

export async function drained(setting: Setting): Promise<void> {
  while ((await waitingPacks(setting)) > 0) await Bun.sleep(20);
}
