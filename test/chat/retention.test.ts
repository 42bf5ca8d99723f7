// Conversations that nobody uses any more are deleted after CONVERSATION_RETENTION_DAYS, with everything that was said in them.

import { expect, test } from 'bun:test';
import { EXPIRED_STEP_SESSIONS } from '../../src/chat/limits.ts';
import { shared } from '../support/shared.ts';
import { startSetting } from './setting.ts';

const setting = await shared(startSetting());
const { sql } = setting;
const keeping = await setting.start();
const forgetting = await setting.start({ retentionDays: 30 });

/** A session whose last message is so many days old. */
async function sessionOf(days: number): Promise<{ name: string; id: number }> {
  const { name, chat_session_id: id } = await keeping.newSession();
  await keeping.ask(name, 'hello');
  await age(id, days);
  return { name, id };
}
const age = (id: number, days: number) =>
  sql`UPDATE chat_sessions SET updated_at = now() - ${days}::int * interval '1 day',
    created_at = now() - 400 * interval '1 day' WHERE id = ${id}`;

const left = async (): Promise<{ sessions: number[]; messages: number[] }> => ({
  sessions: (await sql<{ id: number }[]>`SELECT id FROM chat_sessions ORDER BY id`).map(({ id }) => id),
  messages: (
    await sql<{ id: number }[]>`SELECT DISTINCT session_id AS id FROM chat_messages ORDER BY id`
  ).map(({ id }) => id),
});

test('are deleted with their messages where the last one is too old, and begin again', async () => {
  const [old, used] = [await sessionOf(31), await sessionOf(29)];
  await keeping.settle();
  expect((await left()).sessions).toEqual([old.id, used.id]);
  await forgetting.settle();
  expect(await left()).toEqual({ sessions: [used.id], messages: [used.id] });
  const told = (await setting.events()).filter(({ type }) => type === 'chat.delete');
  expect(told).toMatchObject([{ data: { value: '1', chat_session_id: old.id } }]);
  expect(await keeping.newSession({ channel_session_id: old.name })).toMatchObject({ created: true });
});

test('are kept while an answer is being made, however long ago its question was asked', async () => {
  const { name, chat_session_id: id } = await keeping.newSession();
  const asking = keeping.ask(name, '[hold] hello');
  while (keeping.model.running() === 0) await Bun.sleep(1);
  await age(id, 31);
  await forgetting.settle();
  expect((await left()).sessions).toContain(id);
  keeping.model.release();
  await asking;
  await age(id, 31);
  await forgetting.settle();
  expect((await left()).sessions).not.toContain(id);
});

test('are deleted behind any number of older ones that are in use, and again in the next run', async () => {
  await sql`
    INSERT INTO chat_sessions (workspace_id, key, user_id, channel, channel_plugin, channel_id, channel_session_id,
      persona_id, agi_id, person, created_at)
    SELECT 'acme', gen_random_uuid(), 'u', 'web', 'p', 'c', i::text, 0, 'a', 'a@example.com', now() - interval '99 days'
    FROM generate_series(1, ${2 * EXPIRED_STEP_SESSIONS + 1}) AS i`;
  for (let round = 0; round < 2; round++) {
    const { id } = await sessionOf(31);
    await forgetting.settle();
    expect((await left()).sessions).not.toContain(id);
  }
});
