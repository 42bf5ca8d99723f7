// Limits are what they say: what is exactly as large passes, what is one larger does not.

import { describe, expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());

type Sent = { path: string; type?: string; text: string };

const headersOf = (type: string): Record<string, string> => ({
  APIKeyHeader: setting.adminKey,
  authorization: `Bearer ${setting.adminKey}`,
  'content-type': type,
});

/** The status, with the length declared or, in chunks, not. */
async function statusOf({ path, type = 'application/json', text }: Sent, chunked = false): Promise<number> {
  const bytes = new TextEncoder().encode(text);
  const parts = [bytes.subarray(0, 1000), bytes.subarray(1000)];
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const part = parts.shift();
      if (part === undefined) controller.close();
      else if (part.length > 0) controller.enqueue(part);
    },
  });
  const response = await fetch(`${setting.url}${path}`, {
    method: 'POST',
    headers: headersOf(type),
    body: chunked ? stream : bytes,
  });
  await response.text();
  return response.status;
}

const confirmation = (n: string): Sent => ({
  path: `/v1/${setting.workspace}/upload/confirm`,
  text: `{"temp_key":"temp/${setting.workspace}/none","document_metadata":{"name":"a","slots":{"n":${n}}}}`,
});
const chat = (n: string): Sent => ({
  path: '/v1/chat/completions',
  text: `{"model":"nobody","messages":[],"n":${n}}`,
});
const embeddings = (path: string) => (): Sent => ({ path, text: '{"model":"nobody","input":["a"]}' });
const event = (n: string): Sent => ({
  path: `/api/v1/workspace_metric/${setting.workspace}/events`,
  type: 'application/cloudevents+json',
  text: `{"specversion":"1.0","id":"${crypto.randomUUID()}","source":"test","type":"a.b","data":{"value":1,"n":${n}}}`,
});

const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('nesting', () => {
  // What takes the body has understood it: no such upload, no such model, stored.
  test.each<[string, (n: string) => Sent, around: number, max: number, taken: number, refused: number]>([
    ['of a confirmation', confirmation, 3, 64, 404, 422],
    ['of a chat request’s members', chat, 0, 512, 404, 400],
    ['of an event’s data', event, 1, 64, 202, 422],
  ])('%s', async (_what, sentOf, around, max, taken, refused) => {
    expect(await statusOf(sentOf(lists(max - around)))).toBe(taken);
    expect(await statusOf(sentOf(lists(max - around + 1)))).toBe(refused);
  });
});

describe('the size of a body', () => {
  const padded = (sent: Sent, size: number): Sent => ({ ...sent, text: sent.text.padEnd(size, ' ') });

  test.each<[string, (n: string) => Sent, max: number, taken: number]>([
    ['of a confirmation', confirmation, 1_048_576, 404],
    ['of a chat request', chat, 33_554_432, 404],
    ['of a request for embeddings', embeddings('/v1/embeddings'), 8_388_608, 404],
    ['of one of the workspace', embeddings(`/${setting.workspace}/v1/embeddings`), 8_388_608, 422],
  ])('%s, declared and in chunks', async (_what, sentOf, max, taken) => {
    for (const chunked of [false, true]) {
      expect(await statusOf(padded(sentOf('1'), max), chunked)).toBe(taken);
      expect(await statusOf(padded(sentOf('1'), max + 1), chunked)).toBe(413);
    }
  });

  test('of one event, and of a request of many', async () => {
    const dataOf = (size: number): Sent => event(`"${'x'.repeat(size - event('""').text.length)}"`);
    const large = dataOf(1_000_000);
    expect(large.text.length).toBe(1_000_000);
    expect(await statusOf(large)).toBe(202);
    expect(await statusOf(dataOf(1_000_001))).toBe(413);
    const many = (count: number, size: number): Sent => {
      const texts = Array.from({ length: count }, () => event('1').text);
      return padded({ ...event('1'), type: 'application/cloudevents-batch+json', text: `[${texts}]` }, size);
    };
    for (const chunked of [false, true]) {
      expect(await statusOf(many(2, 8_000_000), chunked)).toBe(202);
      expect(await statusOf(many(2, 8_000_001), chunked)).toBe(413);
    }
    expect(await statusOf(many(1000, 0))).toBe(202);
    expect(await statusOf(many(1001, 0))).toBe(413);
  });
});
