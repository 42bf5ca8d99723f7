// A checkout that is measured: the service as it runs there, on a Postgres and a store of its own, and what each of them uses.

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readConnection } from '../../src/embedded/postgres/index.ts';
import { type Child, eventually, startChild } from '../../test/support/child.ts';
import { postgresMicros, processMicros, threadMicros } from '../lib/process.ts';

export const KEY = 'bench-key-0123456789-0123456789-abcdef';
export const WORKSPACE = 'bench';

/** Of the service without the thread of its store, of that thread, and of all processes of Postgres: microseconds so far. */
export type Used = { service: number; store: number; postgres: number };

export type Side = AsyncDisposable & {
  url: string;
  pid: number;
  databaseUrl: string;
  dataDir: string;
  used(): Used;
};

/** On a disk, not in memory, even where /tmp is. */
const FOLDER = join(import.meta.dir, '../.data-everyday-');
export const HERE = resolve(import.meta.dir, '../..');

/** Builds what a start needs, and starts the service from the sources of the folder. */
export async function startSide(folder: string): Promise<Side> {
  await build(folder);
  const dataDir = mkdtempSync(FOLDER);
  const child = startChild([process.execPath, join(folder, 'src/main.ts')], {
    directory: folder,
    environment: {
      NODE_ENV: 'production',
      PORT: '0',
      DATA_DIR: dataDir,
      LOG_FORMAT: 'json',
      BOOTSTRAP_WORKSPACE: WORKSPACE,
      BOOTSTRAP_API_KEY: KEY,
      CONTENT: 'off',
    },
  });
  const dispose = async (): Promise<void> => {
    await child.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const url = await listening(child);
    await eventually('the service to be ready', async () => (await fetch(`${url}/readyz`)).ok);
    const databaseUrl = readConnection(join(dataDir, 'postgres'));
    if (databaseUrl === undefined) throw new Error('the service runs without its Postgres');
    const store = await threadThat(child.pid, () => postForm(url));
    const used = (): Used => ({
      service: processMicros(child.pid) - threadMicros(child.pid, store),
      store: threadMicros(child.pid, store),
      postgres: postgresMicros(dataDir),
    });
    return { url, pid: child.pid, databaseUrl, dataDir, used, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function build(folder: string): Promise<void> {
  if (folder === HERE) return;
  if (!existsSync(join(folder, 'src/main.ts'))) throw new Error(`${folder} is no checkout`);
  const steps = 'bun run --silent deps && sh assembly/build.sh && bun src/console/build.ts';
  const child = Bun.spawn(['sh', '-c', steps], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  if ((await child.exited) !== 0) throw new Error(`${folder} cannot be built`);
}

async function listening(child: Child): Promise<string> {
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  return eventually('the service to listen', () => {
    if (ended) throw new Error(`the service ended: ${child.output()}`);
    return /listens on (\S+)/.exec(child.output())?.[1];
  });
}

/** The thread, but for the first, that uses most while `work` is done. */
async function threadThat(pid: number, work: () => Promise<unknown>): Promise<string> {
  const read = () =>
    readdirSync(`/proc/${pid}/task`)
      .filter((thread) => thread !== String(pid))
      .map((thread) => ({ thread, micros: threadMicros(pid, thread) }));
  const before = new Map(read().map(({ thread, micros }) => [thread, micros]));
  for (let time = 0; time < FORMS; time++) await work();
  const grown = read().map(({ thread, micros }) => ({ thread, micros: micros - (before.get(thread) ?? 0) }));
  return grown.sort((one, other) => other.micros - one.micros)[0]?.thread ?? '';
}

const FORMS = 100;

const headers = { APIKeyHeader: KEY };

/** Uploads a small file; the key under which the store has it. */
export async function postForm(url: string): Promise<string> {
  const described = await fetch(`${url}/v1/${WORKSPACE}/presigned/url`, { headers });
  const { url: target, fields } = (await described.json()) as { url: string; fields: Record<string, string> };
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob(['one small file']), 'f.txt');
  const posted = await fetch(target, { method: 'POST', body: form });
  if (posted.status !== 204) throw new Error(`the form was answered ${posted.status}`);
  return fields['key'] ?? '';
}
