// Passages are embedded by an upstream's model, also after the upstream has failed, and the calls are in the workspace's account.

import { expect, test } from 'bun:test';
import { createKeptEmbeddings } from '../../src/gateway/kept-embeddings.ts';
import { createCaller } from '../acceptance/support/caller.ts';
import { createLibrary, freshName } from '../acceptance/support/library.ts';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { type ModelsFile, startGateway } from '../support/gateway.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../support/service.ts';

test('components are understood in every form that JSON has for numbers', async () => {
  const model = {
    id: 'emb',
    endpoints: ['embeddings'],
    targets: [{ target: { model: 'emb' } }],
    fallbacks: [],
  };
  const row = '[5.882193727302365e-05, -0.0, 1E2, 0.1234567890123456789012345, 1e-320, 3]';
  const bytes = Buffer.from(`{"data": [{"object": "embedding", "index": 0, "embedding": ${row}}]}`);
  const embeddings = createKeptEmbeddings({
    service: { serve: async () => ({ kind: 'whole', status: 200, headers: {}, bytes }) },
    embed: async () => expect.unreachable(),
    catalogue: { current: () => ({ models: [model] }) },
  } as never);
  const request = { model: 'emb', workspaceId: WORKSPACE, texts: ['a'] };
  const [vector] = await embeddings.embed(request, new AbortController().signal);
  expect([...(vector as Float32Array)]).toEqual([
    ...Float32Array.from([5.882193727302365e-5, -0, 100, 0.12345678901234568, 1e-320, 3]),
  ]);
});

const modelsFile = (url: string, model: string, target: string): ModelsFile => ({
  upstreams: {
    mock: { base_url: `${url}/v1`, retries: 0, embedding_inputs_max: 3, timeout_ms: { first_byte: 1000 } },
  },
  models: {
    [model]: {
      endpoints: ['embeddings'],
      targets: [{ upstream: 'mock', model: target }],
      fallbacks: ['other'],
    },
    other: { endpoints: ['embeddings'], targets: [{ upstream: 'mock', model: 'ok+key=other' }] },
  },
  defaults: { embeddings: model },
});

const PASSAGE = 'A sentence of the text that is told apart from every other. '.repeat(24).trim();
const text = Array.from({ length: 8 }, (_, index) => `# Part ${index}\n\n${PASSAGE}`).join('\n\n');

test('an upstream that fails delays the vectors, no fallback makes them, and a changed model makes them anew', async () => {
  await using database = await testDatabase();
  const { sql } = database;
  await using gateway = await startGateway((url) => modelsFile(url, 'emb', 'ok+key=emb'), {
    DATABASE_URL: database.url,
    CONTENT: 'on',
  });
  const { mock, service } = gateway;
  const library = createLibrary(createCaller(gateway.url), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  /** How many vectors there are by the model that answers. */
  const vectors = async (): Promise<Record<string, number>> => {
    const rows = await sql<{ name: string; count: number }[]>`
      SELECT m.name, count(v.passage_id)::int FROM document_vector_workspaces w
      JOIN document_vector_models m ON m.id = w.model_id JOIN document_vectors v ON v.model_id = m.id GROUP BY 1`;
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  };
  const named = (name: string, target: string) => `${name} (${target})`;

  const faults = ['status-500', 'die', 'hang', 'invalid-json', 'status-429+retry-after=1'];
  for (const [index, fault] of faults.entries()) {
    await mock.strike('emb', fault);
    const before = (await mock.state('emb')).requests;
    await library.stored({ name: freshName('md') }, text.replaceAll('Part', `Part of ${index}`));
    await eventually(
      'the upstream to be asked',
      async () => (await mock.state('emb')).requests > before,
      60_000,
    );
    expect((await vectors())[named('emb', 'ok+key=emb')] ?? 0).toBe(8 * index);
    await mock.strike('emb', undefined);
    await eventually(
      `the vectors after ${fault}`,
      async () => (await vectors())[named('emb', 'ok+key=emb')] === 8 * (index + 1),
      120_000,
    );
  }
  // It answers too late, however often it is asked, where it is asked for many texts at a time.
  await mock.strike('emb', 'hang+over=2');
  await library.stored({ name: freshName('md') }, text.replaceAll('Part', 'Slow part'));
  const all = 8 * (faults.length + 1);
  await eventually(
    'the vectors of an upstream that is slow',
    async () => (await vectors())[named('emb', 'ok+key=emb')] === all,
    120_000,
  );
  await mock.strike('emb', undefined);
  await eventually('the account of these documents', async () => {
    const [row] = await sql<{ requests: number; tokens: number }[]>`
      SELECT sum(requests)::int AS requests, sum(prompt_tokens)::int AS tokens FROM model_usage
      WHERE workspace_id = ${WORKSPACE} AND model = 'emb' AND endpoint = 'embeddings' AND key_id = ''
        AND outcome = 'ok'`;
    return (row?.requests ?? 0) >= faults.length + 1 && (row?.tokens ?? 0) > 0;
  });

  gateway.writeModels(modelsFile(mock.url, 'emb', 'ok+key=changed'));
  service.child.kill('SIGHUP');
  await eventually(
    'the changed model to answer',
    async () => JSON.stringify(await vectors()) === JSON.stringify({ [named('emb', 'ok+key=changed')]: all }),
    120_000,
  );
});
