// A test event takes the way of a real one, and fails where a real one would; its signature is good for nothing else.

import { describe, expect, test } from 'bun:test';
import { shared } from '../../support/shared.ts';
import {
  type BotClient,
  createBotClient,
  createSigner,
  identityFor,
  messageEvent,
  PROJECT,
  type Reply,
  registerBot,
  serveKeys,
} from '../support/bots.ts';
import { type Answer, bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting());
const { call, workspace, adminKey, people } = setting;
const signer = await createSigner();
const keys = await shared(serveKeys(signer));
const URL_OF_BOT = 'https://bots.example/chatapp/acme/bot';
const ADD_ON = 'service-1@gcp-sa-gsuiteaddons.example.com';

type Tested = { event: Record<string, unknown>; status: number; answer: Reply & { detail?: string } };

const send = (bot: Pick<BotClient, 'id'>, text = 'hello', key = adminKey, of = workspace): Promise<Answer> =>
  call('POST', `/admin/api/workspaces/${of}/bots/${bot.id}/test-events`, { key, json: { text } });

const tested = async (...args: Parameters<typeof send>): Promise<Tested> =>
  bodyOf<Tested>(await send(...args), 200);

async function botWith(verification: object, more: object = {}): Promise<BotClient> {
  const bot = createBotClient(setting);
  expectStatus(await bot.put({ verification, ...more }), 200);
  return bot;
}

describe('a test event', () => {
  const project = { mode: 'project_number', audience: PROJECT };
  const VERIFICATIONS: [string, object][] = [
    ['of a project', { ...project, jwks: keys.url }],
    ['of a project with keys of its own', { ...project, jwks: { keys: [signer.jwk] } }],
    ['for the URL of the webhook', { mode: 'endpoint_url', audience: URL_OF_BOT, jwks: keys.url }],
    ['of an API key', { mode: 'key' }],
  ];
  test.each(VERIFICATIONS)('%s is verified, and answered with its text', async (_title, verification) => {
    const bot = await botWith(verification);
    const { event, status, answer } = await tested(bot, 'a first question');
    expect([status, answer.text]).toEqual([200, expect.stringContaining('a first question')]);
    expect(event).toMatchObject({ type: 'MESSAGE', message: { text: 'a first question' } });
    // The conversation of the person who tests, as every other of the bot.
    const { items } = bodyOf<{ items: { channel_id: string; channel: string; message_count: number }[] }>(
      await call('GET', `/api/v1/chat/sessions/${workspace}`, { headers: { 'svc-key': adminKey } }),
      200,
    );
    expect(items.find(({ channel_id: id }) => id === bot.id)).toMatchObject({
      channel: 'google_chat',
      message_count: 2,
    });
  });

  test('of an add-on is one of its service account, and answered with an action', async () => {
    const bot = await botWith({
      mode: 'endpoint_url',
      audience: URL_OF_BOT,
      jwks: keys.url,
      service_account_email: ADD_ON,
    });
    const { event, status, answer } = await tested(bot, 'to an add-on');
    expect(status).toBe(200);
    expect(event).toMatchObject({ chat: { messagePayload: { message: { text: 'to an add-on' } } } });
    expect(JSON.stringify(answer)).toContain('createMessageAction');
  });

  test('that begins with the name of a command is the command', async () => {
    const commands = [{ id: 7, name: '/help', reply: 'Ask me.' }];
    const bot = await registerBot(setting, keys.url, { commands });
    expect((await tested(bot, '/help me')).answer).toEqual({ text: 'Ask me.' });
    expect((await tested(bot, 'help')).answer.text).not.toBe('Ask me.');
  });

  test('is another event each time', async () => {
    const bot = await registerBot(setting, keys.url);
    const [first, second] = [await tested(bot), await tested(bot)];
    expect((first.event['message'] as { name: string }).name).not.toBe(
      (second.event['message'] as { name: string }).name,
    );
  });

  test('has text', async () => {
    const bot = await registerBot(setting, keys.url);
    for (const text of ['', 'x'.repeat(32_001)]) expectStatus(await send(bot, text), 422);
    expectStatus(await send(bot, 'x'.repeat(32_000)), 200);
  });
});

describe('fails as a real event does:', () => {
  const real = async (bot: BotClient, claims = {}): Promise<Answer> =>
    bot.send(messageEvent('hello'), await signer.token(claims));

  test('where the keys of the platform cannot be fetched', async () => {
    using server = serveKeys(signer);
    server.behave(() => new Response(null, { status: 500 }));
    const bot = await registerBot(setting, server.url);
    const { status, answer } = await tested(bot);
    const answered = await real(bot);
    expect([status, answer]).toEqual([answered.status, JSON.parse(answered.text)]);
    expect(status).toBe(503);
  });

  test('where the bot was removed', async () => {
    const bot = await registerBot(setting, keys.url);
    expectStatus(await tested(bot).then(() => call('DELETE', registration(bot), { key: adminKey })), 204);
    expectRefusal(await real(bot), 404);
    expectRefusal(await send(bot), 404);
  });

  test('where the model fails', async () => {
    const agent = { name: 'Failing', kind: 'persona', model: 'no-such-model', instructions: '' };
    const path = `/admin/api/workspaces/${workspace}/agents/failing`;
    expectStatus(await call('PUT', path, { key: adminKey, json: agent }), 200);
    const bot = await registerBot(setting, keys.url, { agent_id: 'failing' });
    const { status, answer } = await tested(bot);
    const answered = await real(bot);
    expect([status, answer]).toEqual([answered.status, JSON.parse(answered.text)]);
    expect(answer.text).toStartWith('Sorry');
  });

  test('where the key that sends it lacks the scope, in the mode key', async () => {
    const { key } = await people.newKey({ scopes: ['admin'] });
    const bot = await botWith({ mode: 'key' });
    const { status, answer } = await tested(bot, 'hello', key);
    const answered = await bot.send(messageEvent('hello'), key);
    expect([status, answer]).toEqual([answered.status, JSON.parse(answered.text)]);
    expect(status).toBe(403);
  });

  const registration = ({ id }: BotClient): string => `/admin/api/workspaces/${workspace}/bots/${id}`;
});

describe('nobody gets a signature', () => {
  test('without the right to administer the workspace of the bot', async () => {
    const bot = await registerBot(setting, keys.url);
    const { key: sender } = await people.newKey({ scopes: ['bots', 'chat', 'models'] });
    expectRefusal(await send(bot, 'hello', sender), 403);
    const elsewhere = await setting.elsewhere();
    const { key: foreign } = await elsewhere.people.newKey({ scopes: ['admin', 'bots'] });
    expectRefusal(await send(bot, 'hello', foreign), 403);
    // The bots of another workspace are not found in one's own.
    expectRefusal(await send(bot, 'hello', foreign, elsewhere.workspace), 404);
    expectRefusal(await send(bot, 'hello', `${sender}x`), 401);
    // The portal's own way into the interface takes its cookie alone.
    const byPortal = await fetch(`${setting.url}/admin/call${bot.path}`, {
      method: 'POST',
      headers: { APIKeyHeader: adminKey },
    });
    expect(byPortal.status).toBe(401);
  });

  test('from the answer, in which no token stands', async () => {
    const bot = await registerBot(setting, keys.url);
    const { text } = await send(bot);
    expect(text).not.toMatch(/[\w-]{20,}\.[\w-]{20,}\.[\w-]{20,}/);
  });

  test('by keys of the platform being taken for the tester: its events have no rights of the key', async () => {
    const { key } = await people.newKey({ scopes: ['admin'] });
    const bot = await botWith({ mode: 'endpoint_url', audience: URL_OF_BOT, jwks: keys.url });
    const { status } = await tested(bot, 'hello', key);
    const answered = await bot.send(messageEvent('hello'), await signer.token(identityFor(URL_OF_BOT)));
    expect([status, answered.status]).toEqual([200, 200]);
  });
});
