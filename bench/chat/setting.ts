// Conversations under load: a process of their own, on a Postgres whose files are on a disk, with a fake model.

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '../../src/embedded/postgres/index.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { type Child, eventually, startChild } from '../../test/support/child.ts';
import { silentLog } from '../../test/support/database.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../test/support/service.ts';

export type Setting = AsyncDisposable & { url: string; sql: Sql; process: Child };

/** On a disk, not in memory, even where /tmp is. */
const FOLDER = join(import.meta.dir, '../.data-chat-');

export async function startSetting({
  modelDelayMs,
  modelJitter = false,
}: {
  modelDelayMs: number;
  modelJitter?: boolean;
}): Promise<Setting> {
  await using begun = new AsyncDisposableStack();
  const dataDir = mkdtempSync(FOLDER);
  begun.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgres({ directory: join(dataDir, 'postgres'), log: silentLog });
  begun.defer(postgres.stop);
  const child = startChild([process.execPath, join(import.meta.dir, '../../test/support/chat-process.ts')], {
    environment: {
      PORT: '0',
      DATA_DIR: dataDir,
      DATABASE_URL: postgres.url,
      BOOTSTRAP_WORKSPACE: WORKSPACE,
      BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
      MODEL_DELAY_MS: `${modelDelayMs}`,
      MODEL_JITTER: modelJitter ? '1' : '0',
      LOG_LEVEL: 'warn',
      LOG_FORMAT: 'json',
      NODE_ENV: 'production',
    },
  });
  begun.defer(child.stop);
  const url = await eventually('the process to listen', () => /listens on (\S+)/.exec(child.output())?.[1]);
  const sql = connectPostgres({
    url: postgres.url,
    applicationName: 'bench',
    log: silentLog,
    statementTimeoutMs: 0,
  });
  begun.defer(() => sql.end({ timeout: 1 }));
  const kept = begun.move();
  return { url, sql, process: child, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const HEADERS = { 'svc-key': BOOTSTRAP_KEY, 'content-type': 'application/json' };
const CHANNEL = `${WORKSPACE}/bench/widget/shop`;

export async function newSession({ url }: Setting): Promise<{ name: string; id: number }> {
  const name = crypto.randomUUID();
  const body = JSON.stringify({ agi_id: 'nobody', channel_session_id: name });
  const answer = await fetch(`${url}/api/v1/chat/messages/create-chat-session/${CHANNEL}`, {
    method: 'POST',
    headers: HEADERS,
    body,
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  return { name, id: ((await answer.json()) as { chat_session_id: number }).chat_session_id };
}

/** Sends a message; the time to its answer, and what of it the model took. */
export async function exchange(
  { url }: Setting,
  session: string,
  message: string,
): Promise<{ totalMs: number; modelMs: number }> {
  const id = crypto.randomUUID();
  const body = JSON.stringify({
    message,
    channel_user_message_id: id,
    channel_assistant_message_id: `a-${id}`,
  });
  const startedAt = performance.now();
  const answer = await fetch(
    `${url}/api/v1/chat/messages/send-message/${CHANNEL}/bychannelsession/${session}`,
    { method: 'POST', headers: HEADERS, body },
  );
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(text);
  const totalMs = performance.now() - startedAt;
  const { answer: said } = JSON.parse(text) as { answer: string };
  return { totalMs, modelMs: Number(/in (\S+) ms$/.exec(said)?.[1]) };
}

export const send = async (setting: Setting, session: string, message: string): Promise<number> =>
  (await exchange(setting, session, message)).totalMs;

/** Runs `work` in as many lines as are given, each one after the other, for some seconds; the times that it gives. */
export async function measure(seconds: number, lines: readonly (() => Promise<number>)[]): Promise<number[]> {
  const endsAt = performance.now() + seconds * 1000;
  const times: number[] = [];
  const run = async (work: () => Promise<number>): Promise<void> => {
    while (performance.now() < endsAt) times.push(await work());
  };
  await Promise.all(lines.map(run));
  return times.sort((one, other) => one - other);
}

export const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
