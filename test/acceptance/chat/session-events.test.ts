// The events of one conversation, for its administrators: those that name the session, and those of its messages.

import { expect, test } from 'bun:test';
import { createChatClient } from '../../support/chat-client.ts';
import { eventually } from '../../support/child.ts';
import { shared } from '../../support/shared.ts';
import { bodyOf, expectStatus } from '../support/caller.ts';
import { startSetting } from '../support/setting.ts';

type Event = { type: string; data: Record<string, unknown>; source: string; id: string };
type Page = { items: Event[]; next_cursor: string | null };

const setting = await shared(startSetting());
const { call, workspace, adminKey: key } = setting;
const chat = createChatClient(call, { workspace, key });
const pathOf = (session: number): string =>
  `/admin/api/workspaces/${workspace}/chat-sessions/${session}/events`;
const pageOf = async (session: number, query = {}) =>
  bodyOf<Page>(await call('GET', pathOf(session), { key, query }), 200);

test('are all of it, and none of another conversation or of an application that imitates one', async () => {
  const { name, chat_session_id: id } = await chat.newSession();
  const other = await chat.newSession();
  const first = await chat.ask(name, 'first');
  const second = await chat.ask(name, 'second');
  await chat.ask(other.name, 'elsewhere');
  expectStatus(await chat.feedback(first.message_id, { is_positive: true }), 201);
  const changed = JSON.parse(
    (await chat.edit(second.user_message_id, { message: 'third' })).text,
  ) as typeof second;
  const again = JSON.parse(
    (await chat.edit(changed.user_message_id, { message: 'fourth' })).text,
  ) as typeof second;
  expectStatus(await chat.remove(again.user_message_id), 204);
  expectStatus(await chat.rename(id, { title: 'Named' }), 200);
  const imitation = {
    specversion: '1.0',
    id: crypto.randomUUID(),
    source: 'shop',
    type: 'chat.rename',
    data: { value: '1', chat_session_id: id },
  };
  expectStatus(
    await call('POST', `/api/v1/workspace_metric/${workspace}/events`, {
      headers: { authorization: key, 'content-type': 'application/cloudevents+json' },
      json: imitation,
    }),
    202,
  );
  const expected = [
    'chat.create',
    'chat.rename',
    'messages.rag.persona.new',
    'messages.rag.persona.new',
    'messages.rag.persona.new',
    'messages.rag.persona.new',
    'messages.user.delete',
    'messages.user.feedback',
    'messages.user.new',
    'messages.user.new',
    'messages.user.update',
    'messages.user.update',
  ];
  const page = await eventually('all events to be stored', async () => {
    const found = await pageOf(id);
    return found.items.length >= expected.length && found;
  });
  expect(page.items.map(({ type }) => type).toSorted()).toEqual(expected);
  expect(new Set(page.items.map(({ source }) => source))).toEqual(new Set(['atrium']));
  expect(page.next_cursor).toBeNull();

  const walked: Event[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next: Page = await pageOf(id, { limit: 2, cursor });
    walked.push(...next.items);
    cursor = next.next_cursor;
  }
  expect(new Set(walked.map((each) => each.id))).toEqual(new Set(page.items.map((each) => each.id)));
  const named = walked.filter(({ data }) => data['chat_session_id'] !== undefined);
  expect(named.length).toBe(8);
  expect(new Set(named.map((each) => each.id)).size).toBe(8);
});

test('stay where the conversation is deleted, are none where there never was one, and are for administrators', async () => {
  const { chat_session_id: id } = await chat.newSession();
  expectStatus(await chat.removeSession(id), 204);
  const types = await eventually('its events', async () => {
    const { items } = await pageOf(id);
    return items.length === 2 && items.map(({ type }) => type);
  });
  expect(types).toEqual(['chat.create', 'chat.delete']);
  expect(await pageOf(Number.MAX_SAFE_INTEGER)).toEqual({ items: [], next_cursor: null });
  const { key: plain } = await setting.people.newKey({ scopes: ['chat', 'metrics'] });
  expectStatus(await call('GET', pathOf(id), { key: plain }), 403);
  const { key: foreign } = await (await setting.elsewhere()).people.newKey({ scopes: ['admin'] });
  expectStatus(await call('GET', pathOf(id), { key: foreign }), 403);
  expectStatus(await call('GET', pathOf(id), { key, query: { cursor: 'x' } }), 422);
  expectStatus(await call('GET', pathOf(0), { key }), 422);
});
