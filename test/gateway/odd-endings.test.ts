// Streams that end otherwise than most: nothing that came is lost, and nothing that was cut passes for whole.

import { expect, test } from 'bun:test';
import { type ModelsFile, startGateway } from '../support/gateway.ts';
import { shared } from '../support/shared.ts';

const modelsFile = (mockUrl: string): ModelsFile => ({
  upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
  models: { raw: { endpoints: ['chat', 'completions'], targets: [{ upstream: 'mock', model: 'raw' }] } },
});

const gateway = await shared(startGateway(modelsFile));

const HEAD = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'raw' };
const chunkOf = (content: string, finish_reason: string | null = null, index = 0): string =>
  JSON.stringify({ ...HEAD, choices: [{ index, delta: { content }, finish_reason }] });

/** The client's stream, and the data of its events. */
async function stream(sent: string, body: object = {}, path = '/v1/chat/completions') {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'raw',
      stream: true,
      messages: [{ role: 'user', content: 'hi' }],
      mock: { raw: Buffer.from(sent).toString('base64'), size: 7 },
      ...body,
    }),
  });
  expect(response.status).toBe(200);
  const text = await response.text();
  const data = text.split(/\r\n|\r|\n/).flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
  return { text, data };
}

test('a last chunk without its blank line, or any line end, is delivered', async () => {
  const sent = [chunkOf('a'), chunkOf('b', 'stop')];
  for (const end of ['', '\n', '\r', '\r\n']) {
    const { data } = await stream(`data: ${sent[0]}\n\ndata: ${sent[1]}${end}`);
    expect(data).toEqual([...sent, '[DONE]']);
  }
});

test('CR alone ends a line', async () => {
  const sent = [chunkOf('a'), chunkOf('b', 'stop'), '[DONE]'];
  const text = sent.map((each) => `data: ${each}\r\r`).join('');
  expect((await stream(text)).text).toBe(text);
  // The mark of the end is made where it is missing.
  expect((await stream(text.replace('data: [DONE]\r\r', ''))).data).toEqual(sent);
});

test('of several choices each must have finished', async () => {
  const both = [chunkOf('a'), chunkOf('x', null, 1), chunkOf('b', 'stop'), chunkOf('y', 'length', 1)];
  const events = (chunks: string[]): string => chunks.map((each) => `data: ${each}\n\n`).join('');
  expect((await stream(events(both), { n: 2 })).data.at(-1)).toBe('[DONE]');
  for (const cut of [both.slice(0, 3), [both[0], both[2]] as string[]])
    expect((await stream(events(cut), { n: 2 })).data.at(-1)).toContain('upstream_broke_off');
  // Each prompt is answered.
  const body = { prompt: ['p', 'q'], messages: undefined };
  expect((await stream(events(both), body, '/v1/completions')).data.at(-1)).toBe('[DONE]');
  expect((await stream(events(both.slice(0, 3)), body, '/v1/completions')).data.at(-1)).toContain(
    'broke_off',
  );
  expect((await stream(events([both[0], both[2]] as string[]))).data.at(-1)).toBe('[DONE]');
});
