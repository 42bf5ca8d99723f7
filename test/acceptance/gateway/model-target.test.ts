// Every answer of the gateway names who has answered it.

import { expect, test } from 'bun:test';
import { type ModelsFile, startGateway } from '../../support/gateway.ts';
import { WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { createClient } from './client.ts';

const modelsFile = (mockUrl: string): ModelsFile => {
  const to = (model: string, upstream = 'main') => ({ targets: [{ upstream, model }] });
  const base_url = `${mockUrl}/v1`;
  return {
    upstreams: {
      main: { base_url, retries: 0 },
      narrow: { base_url, retries: 0, embedding_inputs_max: 1 },
      'Zürich\n1': { base_url },
    },
    models: {
      plain: to('ok'),
      rescued: { ...to('status-503'), fallbacks: ['plain'] },
      kept: { ...to('ok+key=kept'), cache: { ttl_seconds: 60 } },
      refusing: to('status-400'),
      failing: to('status-500'),
      nonsense: to('html'),
      misconfigured: to('status-401'),
      unstreamed: to('unstreamed'),
      odd: to('ok+key=odd', 'Zürich\n1'),
      parts: { ...to('ok+key=parts', 'narrow'), endpoints: ['embeddings'] },
      'local-echo': { targets: [{ model: 'local-echo' }] },
    },
  };
};

const gateway = await shared(startGateway(modelsFile));
const client = createClient(gateway);

async function targetOf(answer: Response): Promise<[status: number, target: string | null]> {
  await answer.text();
  return [answer.status, answer.headers.get('Atrium-Model-Target')];
}

const CASES: [model: string, status: number, target: string][] = [
  ['plain', 200, 'main/ok'],
  ['rescued', 200, 'main/ok'],
  ['local-echo', 200, 'local/local-echo'],
  ['unstreamed', 200, 'main/unstreamed'],
  ['refusing', 400, 'main/status-400'],
  ['failing', 500, 'main/status-500'],
  ['nonsense', 502, 'main/html'],
  ['misconfigured', 502, 'main/status-401'],
  ['odd', 200, 'Z%C3%BCrich%0A1/ok+key=odd'],
];
for (const [model, ...expected] of CASES) {
  for (const stream of [false, true])
    test(`${model}, ${stream ? 'streamed' : 'whole'}`, async () => {
      expect(await targetOf(await client.ask(model, { body: { stream } }))).toEqual(expected);
    });
}

test('an answer that was kept comes from the cache', async () => {
  const body = { temperature: 0 };
  for (const stream of [false, true])
    for (const target of ['main/ok+key=kept', 'cache'])
      expect(await targetOf(await client.ask('kept', { body: { ...body, stream } }))).toEqual([200, target]);
});

test('embeddings, in parts too', async () => {
  const body = { input: ['one', 'two'], messages: undefined };
  for (const path of ['/v1/embeddings', `/${WORKSPACE}/v1/embeddings`]) {
    expect(await targetOf(await client.ask('parts', { path, body }))).toEqual([200, 'narrow/ok+key=parts']);
    const local = 'local-multilingual-e1';
    expect(await targetOf(await client.ask(local, { path, body }))).toEqual([200, `local/${local}`]);
  }
});

test('where nobody was asked, nobody is named', async () => {
  expect(await targetOf(await client.ask('nobody'))).toEqual([404, null]);
});
