// Requests to models that are wrong in themselves: refused in OpenAI's shape, and never sent to any upstream.

import { describe, expect, test } from 'bun:test';
import { shared } from '../../support/shared.ts';
import { expectStatus } from '../support/caller.ts';
import { sendRaw } from '../support/raw-request.ts';
import { CHAT, expectOpenAiError, startGatewaySetting } from './setting.ts';

const setting = await shared(startGatewaySetting());

const MESSAGES = '"messages":[{"role":"user","content":"hello"}]';
const PATHS = [
  '/v1/chat/completions',
  '/chat/completions',
  '/v1/completions',
  '/completions',
  '/v1/embeddings',
  '/embeddings',
  '/v1/images/generations',
  '/images/generations',
];

describe('a body that is no JSON object', () => {
  const bodies: Record<string, string> = {
    nothing: '',
    blanks: ' \n ',
    'half an object': '{"model":"right",',
    'a single quote': "{'model':'right'}",
    'a comma too many': `{"model":"right",${MESSAGES},}`,
    'something behind it': `{"model":"right",${MESSAGES}} x`,
    'two objects': `{"model":"right",${MESSAGES}}{"model":"wrong",${MESSAGES}}`,
    'an array': `[{"model":"right",${MESSAGES}}]`,
    'a string': '"model"',
    'a number': '5',
    null: 'null',
    'no value': '{"model":}',
    'a bare word': `{"model":right,${MESSAGES}}`,
    'a control character in a text': `{"model":"right","x":"\u0001",${MESSAGES}}`,
    'an escape that there is not': `{"model":"ri\\ght",${MESSAGES}}`,
    'a form': 'model=right&messages=hello',
  };
  for (const [name, body] of Object.entries(bodies))
    test(`is refused with 400: ${name}`, async () => {
      for (const path of PATHS) expectOpenAiError(await setting.post(path, body), 400);
    });

  test('is refused with 400 where it is nested without end', async () => {
    const body = `{"model":"right","messages":${'['.repeat(200_000)}`;
    expectOpenAiError(await setting.post(CHAT, body), 400);
    const closed = `{"model":"right","messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect((await setting.post(CHAT, closed)).status).toBeLessThan(500);
  });

  test('is refused with 400 where it is no UTF-8', async () => {
    const body = new Uint8Array([...new TextEncoder().encode('{"model":"ri'), 0xff, 0xfe, 0x22, 0x7d]);
    expect([400, 404]).toContain((await setting.post(CHAT, body)).status);
  });
});

describe('a model', () => {
  test('that is unknown is 404, and those that there are are named', async () => {
    const { code, message } = expectOpenAiError(
      await setting.post(CHAT, `{"model":"nobody",${MESSAGES}}`),
      404,
    );
    expect(code).toBe('model_not_found');
    for (const name of ['nobody', 'right', 'wrong']) expect(message).toContain(name);
  });

  for (const value of ['5', '[]', '{}', 'true', '["right"]', '{"model":"right"}'])
    test(`that is ${value} is 400`, async () => {
      const { param } = expectOpenAiError(await setting.post(CHAT, `{"model":${value},${MESSAGES}}`), 400);
      expect(param).toBe('model');
    });

  for (const value of [
    ' ',
    'right ',
    'RIGHT',
    'constructor',
    '__proto__',
    'right\\u0000',
    '\\ud800',
    'x'.repeat(100_000),
  ]) {
    test(`that is called ${JSON.stringify(value.slice(0, 20))} is no other's`, async () => {
      const { message } = expectOpenAiError(
        await setting.post(CHAT, `{"model":"${value}",${MESSAGES}}`),
        404,
      );
      expect(message.length).toBeLessThan(10_000);
    });
  }

  test('without a name is 400', async () => {
    expect(expectOpenAiError(await setting.post(CHAT, `{"model":"",${MESSAGES}}`), 400).param).toBe('model');
  });

  test('cannot bring headers with it', async () => {
    for (const name of ['right\\r\\nx-evil: 1', '\\r\\n\\r\\n{}', 'right\\nset-cookie: a=b']) {
      const answer = await setting.post(CHAT, `{"model":"${name}",${MESSAGES}}`);
      expectOpenAiError(answer, 404);
      expect(answer.headers.get('x-evil') ?? answer.headers.get('set-cookie')).toBeNull();
    }
    const { key, url } = setting.gateway;
    const head = ['GET /v1/models/right%0d%0ax-evil:%201 HTTP/1.1', `authorization: Bearer ${key}`];
    const answer = await sendRaw(url, { head });
    expect(answer).toStartWith('HTTP/1.1 404 ');
    expect(answer.toLowerCase()).not.toContain('\nx-evil');
  });

  test('that cannot do what is asked is 400, and a model that could is named', async () => {
    const chat = expectOpenAiError(await setting.post(CHAT, `{"model":"embed",${MESSAGES}}`), 400);
    expect(chat.param).toBe('model');
    expectOpenAiError(await setting.post('/v1/completions', '{"model":"embed","prompt":"a"}'), 400);
    expectOpenAiError(await setting.post('/v1/embeddings', '{"model":"right","input":"a"}'), 400);
  });

  test('for images is not there: 501', async () => {
    for (const path of ['/v1/images/generations', '/images/generations'])
      expectOpenAiError(await setting.post(path, '{"prompt":"a cat"}'), 501);
  });

  test('of which one asks for the description may be unknown', async () => {
    const headers = { authorization: `Bearer ${setting.gateway.key}` };
    for (const name of ['nobody', '%2e%2e%2fadmin', '__proto__', '%00', '%ff'])
      expectOpenAiError(
        await setting.call('GET', `/v1/models/${name}`, { headers }),
        name === '%00' || name === '%ff' ? 400 : 404,
      );
  });
});

describe('stream', () => {
  for (const value of ['"yes"', '"true"', '1', '0', '[]', '{}', '""'])
    test(`that is ${value} is 400`, async () => {
      const body = `{"model":"right","stream":${value},${MESSAGES}}`;
      expect(expectOpenAiError(await setting.post(CHAT, body), 400).param).toBe('stream');
    });

  test('that is null or false is none', async () => {
    for (const value of ['null', 'false']) {
      const answer = await setting.post(CHAT, `{"model":"right","stream":${value},${MESSAGES}}`);
      expectStatus(answer, 200);
      expect(answer.headers.get('content-type')).toStartWith('application/json');
    }
  });
});

describe('a body of 40 MB', () => {
  const large = (): Uint8Array<ArrayBuffer> => {
    const text = `{"model":"right","messages":[{"role":"user","content":"${'x'.repeat(40 * 1024 * 1024)}"}]}`;
    return new TextEncoder().encode(text);
  };

  test('is refused with 413', async () => {
    expectOpenAiError(await setting.post(CHAT, large()), 413);
  });

  test('is refused with 413 where its length is not told', async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(large());
        controller.close();
      },
    });
    const { url, key } = setting.gateway;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}${CHAT}`, { method: 'POST', headers, body }).catch(() => undefined);
    // The service may hang up on whoever goes on to send.
    expect([413, undefined]).toContain(response?.status);
  });

  test('does no harm to those who come after', async () => {
    expectStatus(await setting.post(CHAT, `{"model":"right",${MESSAGES}}`), 200);
  });
});

test('a body of another type, and other methods, are refused', async () => {
  const body = `{"model":"right",${MESSAGES}}`;
  expect((await setting.post(CHAT, body, { 'content-type': 'text/plain' })).status).toBeLessThan(500);
  const headers = { authorization: `Bearer ${setting.gateway.key}` };
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const { status } = await fetch(`${setting.gateway.url}${CHAT}`, { method, headers });
    expect(status).toBe(405);
  }
});
