// Questions to documents whose vectors an upstream makes: they count for the caller, and are answered by words alone beyond the limits.

import { describe, expect, test } from 'bun:test';
import { createClient } from '../acceptance/gateway/client.ts';
import { bodyOf, expectStatus } from '../acceptance/support/caller.ts';
import { createLibrary } from '../acceptance/support/library.ts';
import { createChatClient, freshId } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { type ModelsFile, startGateway } from '../support/gateway.ts';
import { WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const price = { input_per_million: 1_000_000, output_per_million: 1_000_000 };
const modelsFile = (url: string): ModelsFile => ({
  upstreams: { mock: { base_url: `${url}/v1`, retries: 0 } },
  models: {
    ok: { targets: [{ upstream: 'mock', model: 'ok' }], price },
    emb: { endpoints: ['embeddings'], targets: [{ upstream: 'mock', model: 'ok+key=emb' }], price },
  },
  defaults: { embeddings: 'emb', chat: 'ok' },
});
const gateway = await shared(startGateway(modelsFile, { CONTENT: 'on' }));
const client = createClient(gateway);
const SCOPES = ['documents:read', 'models', 'chat'];
const QUESTIONS = 12;

type Retrieved = { engine: string; passages: { text: string }[] };
const libraryOf = (key: string) => createLibrary(client.call, { workspace: WORKSPACE, key });
const retrieve = async (key: string, query: string): Promise<Retrieved> =>
  bodyOf<Retrieved>(await libraryOf(key).retrieve({ query }), 200);
const calls = async (): Promise<number> => (await gateway.mock.state('emb')).requests;

await libraryOf(gateway.key).stored({ status: 'public' }, 'The pump is changed every 500 hours.');
await eventually('the vectors of the document', async () =>
  (await retrieve(gateway.key, `Which pump ${freshId()}?`)).engine.includes('emb'),
);

const READER = { name: 'Reader', kind: 'persona', knowledge: 'documents' };
const administrator = createChatClient(client.call, { workspace: WORKSPACE, key: gateway.key });
expectStatus(await administrator.putAgent('reader', READER), 200);

/** How many calls of the upstream so many different questions cost, and what found the passages of each. */
async function ask(key: string): Promise<{ cost: number; engines: string[] }> {
  const before = await calls();
  const engines: string[] = [];
  for (let count = 0; count < QUESTIONS; count++) {
    const { engine, passages } = await retrieve(key, `When is the pump changed, ${freshId()}?`);
    expect(passages[0]?.text).toContain('every 500 hours');
    engines.push(engine);
  }
  return { cost: (await calls()) - before, engines };
}

describe('beyond the limits of a key its questions cost nothing, and are answered by words', () => {
  test.each([
    ['requests', { requests_per_minute: 2 }, 3],
    ['tokens', { tokens_per_minute: 10 }, 3],
    ['a budget', { budget_per_month: 5 }, 1],
  ])('%s', async (_, limits, most) => {
    const { key, id } = await client.newKey(limits, SCOPES);
    const { cost, engines } = await ask(key);
    expect(cost).toBeWithin(1, most + 1);
    expect(engines.filter((engine) => engine.includes('emb'))).toHaveLength(cost);
    expect(engines.at(-1)).toStartWith('postgres words (no vectors: the limits of the API key');
    const sums = await eventually('the account', async () => {
      const { items } = await client.usage({ group_by: 'key' });
      const own = items.find(({ group }) => group === id);
      return own !== undefined && own.requests >= cost && own;
    });
    expect(sums).toMatchObject({ requests: cost });
    expect(sums.cost).toBeGreaterThan(0);
  });

  test('as the vector stores of OpenAI, and of a conversation', async () => {
    const { key } = await client.newKey({ budget_per_month: 5 }, SCOPES);
    await ask(key);
    const before = await calls();
    for (let count = 0; count < 3; count++) {
      const json = { query: [`The pump, ${freshId()}?`, `Changed, ${freshId()}?`] };
      const path = `/v1/vector_stores/${WORKSPACE}/search`;
      const found = bodyOf<{ data: unknown[] }>(await client.call('POST', path, { key, json }), 200);
      expect(found.data).not.toEqual([]);
    }
    const chat = createChatClient(client.call, { workspace: WORKSPACE, key });
    const { name: session } = await chat.newSession({ agi_id: 'reader' });
    for (let count = 0; count < 3; count++)
      expectStatus(await chat.send(session, `When is the pump changed, ${freshId()}?`), 429);
    expect((await calls()) - before).toBe(0);
  });

  test('of a conversation whose messages are refused', async () => {
    const { key } = await client.newKey({ requests_per_minute: 1 }, SCOPES);
    const chat = createChatClient(client.call, { workspace: WORKSPACE, key });
    const { name: session } = await chat.newSession({ agi_id: 'reader' });
    const before = await calls();
    // The search of a message is no request of its own.
    expectStatus(await chat.send(session, `When is the pump changed, ${freshId()}?`), 200);
    for (let count = 0; count < QUESTIONS / 2; count++)
      expectStatus(await chat.send(session, `When is the pump changed, ${freshId()}?`), 429);
    expect((await calls()) - before).toBeWithin(1, 3);
  });
});

test('the vectors of documents are in the account of their workspace', async () => {
  const { items } = await client.usage({ group_by: 'key' });
  expect(items.find(({ group }) => group === '')?.requests ?? 0).toBeGreaterThan(0);
});
