// Whose a conversation is, and who is shown what it cites.

import { describe, expect, test } from 'bun:test';
import {
  type AnswerBody,
  type ChatClient,
  createChatClient,
  eventsOf,
  freshId,
  type SessionRow,
} from '../../support/chat-client.ts';
import { shared } from '../../support/shared.ts';
import { messageEvent, USER } from '../support/bots.ts';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { freshEmail } from '../support/people.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting());
const clientOf = (key: string): ChatClient =>
  createChatClient(setting.call, { workspace: setting.workspace, key });
const admin = clientOf(setting.adminKey);
bodyOf(await admin.putAgent('reader', { name: 'Reader', kind: 'persona', knowledge: 'documents' }), 200);

const newClient = async (email: string, ...scopes: string[]): Promise<ChatClient> =>
  clientOf((await setting.people.newKey({ email, scopes: ['chat', ...scopes] })).key);
const listed = async (client: ChatClient): Promise<number[]> =>
  bodyOf<{ items: SessionRow[] }>(await client.sessions({ limit: 100 }), 200).items.map(
    ({ chat_session_id }) => chat_session_id,
  );

describe('a conversation', () => {
  test("is its owner's with any of their keys, also one that replaced another", async () => {
    const email = freshEmail();
    const { key, id: keyId } = await setting.people.newKey({ email, scopes: ['chat'] });
    const first = clientOf(key);
    const { name, chat_session_id } = await first.newSession({ agi_id: 'one' });
    const id = freshId();
    const answer = await first.ask(name, 'hello', { id });
    const rotated = bodyOf<{ key: string }>(
      await setting.call('POST', `/admin/api/workspaces/${setting.workspace}/keys/${keyId}/rotate`, {
        key: setting.adminKey,
        json: {},
      }),
      201,
    );
    expectRefusal(await first.sessions(), 401);
    for (const client of [clientOf(rotated.key), await newClient(email)]) {
      const again = await client.newSession({ agi_id: 'one', channel_session_id: name });
      expect([again.chat_session_id, again.created]).toEqual([chat_session_id, false]);
      const repeat = await client.send(name, 'hello', { id });
      expect([repeat.headers.get('idempotent-replayed'), JSON.parse(repeat.text)]).toEqual(['true', answer]);
      expect(await listed(client)).toEqual([chat_session_id]);
      await client.ask(name, 'and again');
    }
    expect((await clientOf(rotated.key).transcript(chat_session_id)).length).toBe(6);
  });

  test("is not there for another owner's keys, which have one of their own by the same five keys", async () => {
    const owner = await newClient(freshEmail());
    const other = await newClient(freshEmail());
    const { name, chat_session_id } = await owner.newSession();
    const id = freshId();
    const answer = await owner.ask(name, 'my secret', { id });
    expect(await listed(other)).toEqual([]);
    for (const refused of [
      await other.send(name, 'my secret', { id }),
      await other.send(name, 'my secret', { id, stream: true }),
      await other.messages(chat_session_id),
      await other.rename(chat_session_id, { title: 'mine now' }),
      await other.removeSession(chat_session_id),
      await other.addAgentMessage(chat_session_id, { message: 'x', agent_id: 'a@example.com' }),
      await other.edit(answer.user_message_id, { message: 'x' }),
      await other.feedback(answer.message_id, { is_positive: false }),
      await other.remove(answer.user_message_id),
    ])
      expectRefusal(refused, 404);

    const own = await other.newSession({ channel_session_id: name });
    expect(own.created).toBe(true);
    expect(own.chat_session_id).not.toBe(chat_session_id);
    const theirs = await other.send(name, 'another text', { id });
    expect(theirs.headers.get('idempotent-replayed')).toBeNull();
    expect(bodyOf<AnswerBody>(theirs, 200).chat_session_id).toBe(own.chat_session_id);
    const kept = await owner.transcript(chat_session_id);
    expect(kept.map(({ message, feedback }) => [message, feedback])).toEqual([
      ['my secret', null],
      [answer.answer, null],
    ]);
    expect((await owner.newSession({ channel_session_id: name })).chat_session_id).toBe(chat_session_id);
  });

  test('is there for administrators, by its number and by its five keys', async () => {
    const owner = await newClient(freshEmail());
    const { name, chat_session_id } = await owner.newSession({ agi_id: 'one' });
    const id = freshId();
    const answer = await owner.ask(name, 'help me', { id });
    expect(await listed(admin)).toContain(chat_session_id);
    expect((await admin.transcript(chat_session_id)).length).toBe(2);
    const opened = await admin.newSession({ agi_id: 'one', channel_session_id: name });
    expect([opened.chat_session_id, opened.created]).toEqual([chat_session_id, false]);
    const repeat = await admin.send(name, 'help me', { id });
    expect([repeat.headers.get('idempotent-replayed'), JSON.parse(repeat.text)]).toEqual(['true', answer]);
    const words = { message: 'In person', agent_id: 'grace@example.com' };
    expectStatus(await admin.addAgentMessage(chat_session_id, words), 201);
    expectStatus(await admin.feedback(answer.message_id, { is_positive: true }), 201);
    bodyOf(await admin.rename(chat_session_id, { title: 'Helped' }), 200);
    expect((await owner.transcript(chat_session_id)).map(({ message }) => message)).toEqual([
      'help me',
      answer.answer,
      'In person',
    ]);
    expectStatus(await admin.removeSession(chat_session_id), 204);
    expectRefusal(await owner.messages(chat_session_id), 404);
  });

  test('that another owner began before by the same five keys is not what administrators find first, but their own', async () => {
    const owner = await newClient(freshEmail());
    const { name } = await owner.newSession();
    const boss = await newClient(freshEmail(), 'admin');
    const found = await boss.newSession({ channel_session_id: name });
    expect(found.created).toBe(false);
    const fresh = await boss.newSession();
    const theirs = await owner.newSession({ channel_session_id: fresh.name });
    expect(theirs.created).toBe(true);
    expect((await boss.ask(fresh.name, 'hello')).chat_session_id).toBe(fresh.chat_session_id);
    expect((await owner.ask(fresh.name, 'hello')).chat_session_id).toBe(theirs.chat_session_id);
  });
});

describe('knowledge', () => {
  const SCOPES = ['chat', 'documents:read', 'documents:write'];
  const freshWord = (): string => `w${freshId().replaceAll('-', '').slice(0, 12)}`;

  test('needs a key with documents:read: without it nothing is taken, and nothing is told', async () => {
    const email = freshEmail();
    const plain = await newClient(email);
    const { name, chat_session_id } = await plain.newSession({ agi_id: 'reader' });
    const id = freshId();
    for (const stream of [false, true]) {
      const sentence = expectRefusal(await plain.send(name, 'What is known?', { id, stream }), 403);
      expect(sentence).toBe(
        'The API key lacks the scope documents:read, which an agent with knowledge of documents needs',
      );
    }
    expect(await plain.transcript(chat_session_id)).toEqual([]);
    // The same message with a key that may is a first one.
    const reading = await newClient(email, 'documents:read');
    const answer = await reading.send(name, 'What is known?', { id });
    expectStatus(answer, 200);
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
    const { user_message_id } = JSON.parse(answer.text) as AnswerBody;
    expectRefusal(await plain.edit(user_message_id, { message: 'And what else?' }), 403);
    expect((await plain.transcript(chat_session_id)).length).toBe(2);
    // An agent without knowledge needs no such scope.
    await plain.newSession({ agi_id: 'nobody', channel_session_id: name });
    await plain.ask(name, 'Good morning');
  });

  test('needs documents:read of a key that brings an event of a bot, too', async () => {
    const { workspace, call, adminKey } = setting;
    const json = { verification: { mode: 'key' }, agent_id: 'reader' };
    bodyOf(await call('PUT', `/admin/api/workspaces/${workspace}/bots/reader`, { key: adminKey, json }), 200);
    const event = messageEvent('What is known?');
    const email = freshEmail();
    const sendWith = async (...scopes: string[]) =>
      call('POST', `/chatapp/${workspace}/reader`, {
        headers: { authorization: (await setting.people.newKey({ scopes, email })).key },
        json: event,
      });
    expect(expectRefusal(await sendWith('bots'), 403)).toContain('documents:read');
    const answer = await sendWith('bots', 'documents:read');
    expect(bodyOf<{ text: string }>(answer, 200).text).toContain('What is known?');
    // Such a conversation is nobody's key's but the administrators'.
    const person = await newClient(USER.email);
    expect(await listed(person)).toEqual([]);
    const { items } = bodyOf<{ items: SessionRow[] }>(await admin.sessions({ limit: 100 }), 200);
    expect(items.filter(({ channel_id }) => channel_id === 'reader').length).toBe(1);
  });

  test('that an administrator edits, where a key has brought the event, is not from documents of the person that it names', async () => {
    const { workspace, call, adminKey } = setting;
    const json = { verification: { mode: 'key' }, agent_id: 'reader' };
    bodyOf(await call('PUT', `/admin/api/workspaces/${workspace}/bots/edited`, { key: adminKey, json }), 200);
    const victim = await setting.people.person({ scopes: SCOPES });
    const sender = await setting.people.person({ scopes: ['bots', ...SCOPES] });
    const word = freshWord();
    await victim.library.stored({ summary: `Secret ${word}` });
    const own = await sender.library.stored({ summary: `Own ${word}` });
    const named = { ...USER, email: victim.email };
    const event = messageEvent('Good morning', { sender: named }, { user: named });
    const headers = { authorization: sender.key };
    bodyOf(await call('POST', `/chatapp/${workspace}/edited`, { headers, json: event }), 200);
    const { items } = bodyOf<{ items: SessionRow[] }>(await admin.sessions({ limit: 100 }), 200);
    const session = items.find(({ channel_id }) => channel_id === 'edited')?.chat_session_id ?? 0;
    const [question] = await admin.transcript(session);
    const text = `What is known of ${word}?`;
    const edited = bodyOf<AnswerBody>(await admin.edit(question?.message_id ?? 0, { message: text }), 200);
    expect(edited.citations.map(({ document_id }) => document_id)).toEqual([own.id]);
  });

  test('is cited to those only who may see the documents, as they may now', async () => {
    const person = await setting.people.person({ scopes: SCOPES });
    const stranger = await setting.people.person({ scopes: SCOPES });
    const word = freshWord();
    const own = await person.library.stored({ summary: `Own ${word}` });
    const shared = await stranger.library.stored({
      summary: `Shared ${word}`,
      access: { curators: [person.email] },
    });
    const open = await stranger.library.stored({ summary: `Open ${word}`, status: 'public' });
    const theirs = clientOf(person.key);
    const { name, chat_session_id } = await theirs.newSession({ agi_id: 'reader' });
    const id = freshId();
    const text = `What is known of ${word}?`;
    await theirs.ask(name, text, { id });

    /** In every place where a citation is shown, as it has to be the same in each. */
    const citedTo = async (client: ChatClient): Promise<string[]> => {
      const [, answer] = await client.transcript(chat_session_id);
      const shown = answer?.citations ?? [];
      const whole = await client.ask(name, text, { id });
      const events = eventsOf((await client.send(name, text, { id, stream: true })).text);
      expect(whole.citations).toEqual(shown);
      expect(events.at(-1)?.['citations']).toEqual(shown);
      expect(events.find(({ type }) => type === 'citations')?.['citations']).toEqual(shown);
      return shown.map(({ document_id }) => document_id).toSorted();
    };
    const sorted = (...documents: { id: string }[]) => documents.map((each) => each.id).toSorted();
    const unscoped = await newClient(person.email);
    expect(await citedTo(theirs)).toEqual(sorted(own, shared, open));
    expect(await citedTo(admin)).toEqual(sorted(own, shared, open));
    expect(await citedTo(unscoped)).toEqual([]);
    expect(await citedTo(await newClient(freshEmail(), 'admin'))).toEqual([]);

    const { workspace, call } = setting;
    const as = (key: string) => ({ key });
    const patch = { ...as(stranger.key), json: { access: { curators: [] } } };
    expectStatus(await call('PUT', `/v1/metadata/${workspace}/${shared.id}`, patch), 200);
    expect(await citedTo(theirs)).toEqual(sorted(own, open));
    // In the bin a document is its owner's and the administrators'.
    expectStatus(await call('DELETE', `/v1/${workspace}/${open.id}`, as(stranger.key)), 204);
    expectStatus(await call('DELETE', `/v1/${workspace}/${own.id}`, as(person.key)), 204);
    expect(await citedTo(theirs)).toEqual(sorted(own));
    expect(await citedTo(admin)).toEqual(sorted(own, shared, open));
    expectStatus(await call('DELETE', `/v1/${workspace}/trash/${own.id}`, as(person.key)), 204);
    expect(await citedTo(theirs)).toEqual([]);
    expect(await citedTo(admin)).toEqual(sorted(shared, open));
  });

  test('of an administrator who asks on in a conversation is what its owner may see', async () => {
    const person = await setting.people.person({ scopes: SCOPES });
    const boss = await setting.people.person({ scopes: [...SCOPES, 'admin'] });
    const word = freshWord();
    const own = await person.library.stored({ summary: `Own ${word}` });
    await boss.library.stored({ summary: `Of the board ${word}` });
    const theirs = clientOf(person.key);
    const { name } = await theirs.newSession({ agi_id: 'reader' });
    await theirs.ask(name, 'Good morning');
    const answer = await clientOf(boss.key).ask(name, `What is known of ${word}?`);
    expect(answer.citations.map(({ document_id }) => document_id)).toEqual([own.id]);
  });
});
