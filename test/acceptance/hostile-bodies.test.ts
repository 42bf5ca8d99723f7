// Small requests that would be expensive to answer are refused at a cost that their size explains.

import { describe, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { eventually } from '../support/child.ts';
import { shared } from '../support/shared.ts';
import { type Answer, bodyOf, expectStatus } from './support/caller.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const zeros = (count: number): string => '0'.repeat(count);

const CHAT = '/v1/chat/completions';
const post = (path: string, body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  setting.call('POST', path, {
    body,
    headers: { authorization: `Bearer ${setting.adminKey}`, 'content-type': 'application/json', ...headers },
  });
const postZipped = (path: string, text: string, headers: Record<string, string> = {}): Promise<Answer> =>
  post(path, new Uint8Array(gzipSync(text)), { ...headers, 'content-encoding': 'gzip' });
const postEvents = (text: string): Promise<Answer> =>
  postZipped(`/api/v1/workspace_metric/${setting.workspace}/events`, text, {
    'content-type': 'application/cloudevents-batch+json',
  });

describe('without a credential', () => {
  test('the sign-in takes no more than a key', async () => {
    const long = utf8(`{"key":1.${zeros(120_000)}1}`);
    const headers = { 'content-type': 'application/json' };
    expectStatus(await setting.call('POST', '/admin/api/session', { body: long, headers }), 413);
    const key = utf8(JSON.stringify({ key: 'x'.repeat(512) }));
    expectStatus(await setting.call('POST', '/admin/api/session', { body: key, headers }), 401);
  });
});

describe('a compressed body', () => {
  test('that inflates to more than a hundred times its size is refused', async () => {
    const bombs = [`{"model":"local-echo","messages":[${'1,'.repeat(4_000_000)}1]}`, '['.repeat(8_000_000)];
    for (const text of bombs) {
      expectStatus(await postZipped(CHAT, text), 413);
      expect(bodyOf<{ detail: string }>(await postEvents(text), 413).detail).toContain('100 times');
    }
  });

  test('that is small may inflate to 64 KiB', async () => {
    const text = (length: number): string =>
      JSON.stringify({ model: 'nobody', messages: [], pad: 'x'.repeat(length - 40) });
    expectStatus(await postZipped(CHAT, text(65_000)), 404);
    expectStatus(await postZipped(CHAT, text(66_000)), 413);
  });
});

describe('JSON', () => {
  test('with a number of a million digits is refused in time that grows with its length alone', async () => {
    const confirm = `/v1/${setting.workspace}/upload/confirm`;
    const text = `{"temp_key":"x","document_metadata":{"name":"a","slots":{"n":1.${zeros(1_000_000)}1}}}`;
    const answer = await setting.call('POST', confirm, {
      key: setting.adminKey,
      body: utf8(text),
      headers: { 'content-type': 'application/json' },
    });
    const [entry] = bodyOf<{ detail: { type: string; loc: unknown[] }[] }>(answer, 422).detail;
    expect(entry).toMatchObject({ type: 'json_invalid', loc: ['body', text.indexOf('1.0')] });
  });

  test('of more values than anything needs is refused, however short they are', async () => {
    const events = `[${'[],'.repeat(300_000)}1]`;

    const answer = await post(`/api/v1/workspace_metric/${setting.workspace}/events`, utf8(events), {
      'content-type': 'application/cloudevents-batch+json',
    });
    expect(answer.text).toContain('More than 262144 values');
    expectStatus(answer, 422);
    const chat = await post(CHAT, utf8(`{"model":"local-echo","messages":[${'1,'.repeat(600_000)}1]}`));
    expect(chat.text).toContain('more than 524288 values');
    expectStatus(chat, 400);
  });

  test('that never closes is refused', async () => {
    const open = '['.repeat(7_000_000);
    const events = await post(`/api/v1/workspace_metric/${setting.workspace}/events`, utf8(open), {
      'content-type': 'application/cloudevents-batch+json',
    });
    expectStatus(events, 422);
    expectStatus(await post(CHAT, utf8(`{"model":"local-echo","messages":${open}`)), 400);
  });
});

describe('texts to embed', () => {
  const embed = (input: string[]): Promise<Answer> =>
    post('/v1/embeddings', utf8(JSON.stringify({ model: 'local-multilingual-e1', input })));
  // Each expands to 18 characters when it is normalised.
  const EXPANDING = '\ufdfa';

  test('have 32,768 characters at most, each', async () => {
    expectStatus(await embed([EXPANDING.repeat(32_768)]), 200);
    const refused = await embed(['short', EXPANDING.repeat(32_769)]);
    expectStatus(refused, 400);
    expect(refused.text).toContain('input[1]');
  });

  test('have 4,194,304 characters at most, together', async () => {
    const texts = (count: number): string[] => Array.from({ length: count }, () => 'x'.repeat(32_768));
    expectStatus(await embed(texts(128)), 200);
    expectStatus(await embed([...texts(128), 'x']), 400);
  });
});

describe('a search', () => {
  const search = (query: string): Promise<Answer> =>
    setting.call('GET', `/v1/filter/${setting.workspace}?${query}`, { key: setting.adminKey });
  const filters = (count: number): string => Array.from({ length: count }, () => 'name=a').join('&');

  test('has 500 filters at most', async () => {
    expectStatus(await search(filters(500)), 200);
    const [entry] = bodyOf<{ detail: unknown[] }>(await search(filters(501)), 422).detail;
    expect(entry).toMatchObject({ type: 'too_long', loc: ['query'] });
  });

  test('has 1,000 parameters at most', async () => {
    const [entry] = bodyOf<{ detail: unknown[] }>(await search(filters(1001)), 422).detail;
    expect(entry).toMatchObject({ type: 'too_long', ctx: { max_length: 1000 } });
  });
});

describe('the bodies of all requests together', () => {
  const BYTES = 16_000_000;
  /** Enough of them fill the memory that bodies may take. */
  const SLOW = 17;
  /** After so long a body on its way gives way to others. */
  const GIVES_WAY_MS = 5000;

  function beginSlowBody(): Promise<Socket> {
    const { hostname, port } = new URL(setting.url);
    const head = [
      `POST ${CHAT} HTTP/1.1`,
      `host: ${hostname}`,
      `authorization: Bearer ${setting.adminKey}`,
      'content-type: application/json',
      `content-length: ${BYTES}`,
    ];
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      socket.on('error', reject);
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      socket.write(Buffer.alloc(BYTES - 1, 0x20), () => resolve(socket));
    });
  }

  const heldBytes = async (): Promise<number> => {
    const { text } = await setting.call('GET', '/metrics');
    return Number(/^atrium_request_bodies_bytes (\d+)/m.exec(text)?.[1]);
  };

  const large = utf8(`{"model":"nobody","messages":[],"pad":"${'x'.repeat(15_000_000)}"}`);

  /** The answer to a large body while slow ones fill the memory, and how long they had been on their way by then. */
  async function askBesideSlowBodies(): Promise<{ answer: Answer; afterMs: number }> {
    const begunAtMs = performance.now();
    const sockets = await Promise.all(Array.from({ length: SLOW }, beginSlowBody));
    try {
      await eventually('the memory for bodies to be full', async () => (await heldBytes()) > 250_000_000);
      const answer = await post(CHAT, large);
      return { answer, afterMs: performance.now() - begunAtMs };
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  }

  test('are refused with 503 where they take too much memory, until there is room again', async () => {
    let asked = await askBesideSlowBodies();
    // Slow bodies give way to others after a time, and a busy machine takes as long to send them.
    while (asked.afterMs >= GIVES_WAY_MS && asked.answer.status !== 503) asked = await askBesideSlowBodies();
    expectStatus(asked.answer, 503);
    expect(asked.answer.headers.get('retry-after')).not.toBeNull();
    await eventually('the memory to be given back', async () => (await heldBytes()) === 0);
    expectStatus(await post(CHAT, utf8(JSON.stringify({ model: 'nobody', messages: [] }))), 404);
  });
});
