// Input that nobody should send: it is refused with a 4xx in one sentence, whatever it is.

import { describe, expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { type Answer, bodyOf, expectRefusal, expectStatus } from './support/caller.ts';
import type { Entry } from './support/entries.ts';
import { sendRaw } from './support/raw-request.ts';
import { type Setting, startSetting } from './support/setting.ts';

const setting = await shared(startSetting());
const confirmPath: string = `/v1/${setting.workspace}/upload/confirm`;
const patchPath: string = `/v1/metadata/${setting.workspace}/any.txt`;

const utf8 = (text: string) => new TextEncoder().encode(text);
const JSON_TYPE = { 'content-type': 'application/json' };

const send = (method: string, path: string, options: Parameters<Setting['call']>[2] = {}): Promise<Answer> =>
  setting.call(method, path, { key: setting.adminKey, ...options });
const confirm = (json: unknown): Promise<Answer> => send('POST', confirmPath, { json });
const entriesOf = (answer: Answer): Entry[] => bodyOf<{ detail: Entry[] }>(answer, 422).detail;

describe('a body', () => {
  test('of more than a megabyte is refused with 413, declared or not', async () => {
    for (const bytes of [1_048_577, 10_000_000]) {
      const body = utf8(JSON.stringify({ temp_key: 'x'.repeat(bytes) }));
      expectRefusal(await send('POST', confirmPath, { body, headers: JSON_TYPE }), 413);
    }
    const raw = await sendRaw(setting.url, {
      head: [
        `POST ${confirmPath} HTTP/1.1`,
        `APIKeyHeader: ${setting.adminKey}`,
        'content-type: application/json',
        'transfer-encoding: chunked',
      ],
      chunks: Array.from({ length: 20 }, () => 'x'.repeat(100_000)),
    });
    expect(raw).toStartWith('HTTP/1.1 413');
  });

  test('of a megabyte is read', async () => {
    const summary = 'x'.repeat(1_000_000);
    expectStatus(await send('PUT', patchPath, { json: { summary } }), 404);
  });

  test('with anything else in the place of a boolean is refused with 422', async () => {
    const path = `/admin/api/workspaces/${setting.workspace}/agents/any`;
    for (const given of [
      '[12345678901234567890]',
      '[0.10]',
      '{"toString":1}',
      '12345678901234567890',
      '"x"',
    ]) {
      const body = utf8(
        `{"name":"a","kind":"persona","model":"local-echo","instructions":"","default":${given}}`,
      );
      const [entry] = entriesOf(await send('PUT', path, { body, headers: JSON_TYPE }));
      expect(entry?.loc).toEqual(['body', 'default']);
    }
  });

  test('nested 10,000 levels deep is refused with 422', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const nested = `${open.repeat(10_000)}1${close.repeat(10_000)}`;
      for (const text of [
        nested,
        `{"temp_key":"x","document_metadata":{"name":"a","slots":{"a":${nested}}}}`,
      ]) {
        const [refused] = entriesOf(
          await send('POST', confirmPath, { body: utf8(text), headers: JSON_TYPE }),
        );
        expect(refused).toMatchObject({ type: 'json_invalid', loc: ['body', expect.any(Number)] });
      }
    }
  });

  test('that is not UTF-8 is refused with 422', async () => {
    const start = utf8('{"temp_key":"');
    for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe4]]) {
      const body = Uint8Array.from([...start, ...bytes, ...utf8('"}')]);
      expect(entriesOf(await send('POST', confirmPath, { body, headers: JSON_TYPE }))).toMatchObject([
        { type: 'json_invalid' },
      ]);
    }
    const utf16 = new Uint8Array(Buffer.from('\ufeff{}', 'utf16le'));
    expectStatus(await send('POST', confirmPath, { body: utf16, headers: JSON_TYPE }), 422);
  });

  test('may begin with a byte order mark, as some editors and shells write it', async () => {
    const body = utf8('\ufeff{"summary":"x"}');
    expectStatus(await send('PUT', patchPath, { body, headers: JSON_TYPE }), 404);
  });

  test('of another media type is refused with 415', async () => {
    for (const type of [
      'text/plain',
      'application/xml',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded',
      'json',
      '',
    ]) {
      const headers = { 'content-type': type };
      expectRefusal(await send('POST', confirmPath, { body: utf8('{"temp_key":"x"}'), headers }), 415);
    }
  });

  test('of JSON by any of its media types, or by none, is read', async () => {
    for (const type of [
      'application/json',
      'Application/JSON; charset=utf-8',
      'application/merge-patch+json',
    ])
      expectStatus(
        await send('PUT', patchPath, { body: utf8('{}'), headers: { 'content-type': type } }),
        404,
      );
    expectStatus(await send('PUT', patchPath, { body: utf8('{}') }), 404);
  });

  test('where none is expected is ignored', async () => {
    const path = `/v1/${setting.workspace}/restore/${crypto.randomUUID()}`;
    expectRefusal(await send('POST', path, { body: utf8('\u0000 not json'), headers: JSON_TYPE }), 404);
  });
});

describe('text that no database can hold', () => {
  const at = (...rest: (string | number)[]) => ['body', 'document_metadata', ...rest];
  const PLACES: [place: string, loc: (string | number)[], metadata: (text: string) => object][] = [
    ['a name', at('name'), (text) => ({ name: text })],
    ['a summary', at('summary'), (text) => ({ summary: text })],
    ['a tag', at('tags', 1), (text) => ({ tags: ['good', text] })],
    ['a value of slots', at('slots', 'a', 0, 'b'), (text) => ({ slots: { a: [{ b: text }] } })],
    ['a value of access', at('access', 'note'), (text) => ({ access: { note: text } })],
  ];
  const TEXTS = ['a\u0000b', '\u0000', 'half \ud83d of a pair', '\udc00', '\ud83d\ud83d'];

  test.each(PLACES)('is refused with 422 in %s', async (_place, loc, metadata) => {
    for (const text of TEXTS) {
      const json = { temp_key: 'x', document_metadata: { name: 'a.txt', ...metadata(text) } };
      expect(entriesOf(await confirm(json)).map((entry) => entry.loc)).toEqual([loc]);
      expect(
        entriesOf(await send('PUT', patchPath, { json: metadata(text) })).map((entry) => entry.loc),
      ).toEqual([['body', ...loc.slice(2)]]);
    }
  });

  test('is refused with 422 in keys of slots, in the folder and in the temporary key', async () => {
    for (const text of TEXTS) {
      const metadata = { name: 'a.txt' };
      for (const json of [
        { temp_key: 'x', document_metadata: { ...metadata, slots: { [text]: 1 } } },
        { temp_key: 'x', document_metadata: { ...metadata, slots: { deep: [{ [text]: null }] } } },
        { temp_key: 'x', folder: text, document_metadata: metadata },
        { temp_key: text, document_metadata: metadata },
        { temp_key: 'x', document_metadata: metadata, [text]: 1 },
      ])
        expect(entriesOf(await confirm(json))).toHaveLength(1);
    }
  });

  test('is refused with 422 in paths and queries', async () => {
    const { workspace } = setting;
    for (const text of ['%00', 'a%00b', '%ED%A0%80', '%FF', '%', '%zz', '%C3', '%E0%80%80']) {
      const [name] = entriesOf(await send('GET', `/v1/metadata/${workspace}/${text}/detail`));
      expect(name?.loc).toEqual(['path', 'document']);
      const [id] = entriesOf(await send('DELETE', `/v1/${workspace}/trash/${text}`));
      expect(id?.loc).toEqual(['path', 'file_id']);
      const [cursor] = entriesOf(await send('GET', `/v1/${workspace}/trash?cursor=${text}`));
      expect(cursor?.loc).toEqual(['query', 'cursor']);
    }
  });
});

describe('a head', () => {
  const statusOf = async (...head: string[]) => (await sendRaw(setting.url, { head })).slice(9, 12);

  test('of 60,000 bytes is read', async () => {
    const long = 'x'.repeat(60_000);
    const key = `APIKeyHeader: ${setting.adminKey}`;
    expect(await statusOf(`GET /nowhere/${long} HTTP/1.1`)).toBe('404');
    expect(await statusOf(`GET /v1/${setting.workspace}/trash HTTP/1.1`, `x-a: ${long}`, key)).toBe('200');
    expect(await statusOf(`GET /v1/${setting.workspace}/trash HTTP/1.1`, `APIKeyHeader: ${long}`)).toBe(
      '401',
    );
  });

  test('of more than 64 KiB is refused with 431', async () => {
    for (const bytes of [70_000, 1_048_576]) {
      const long = 'x'.repeat(bytes);
      expect(await statusOf(`GET /nowhere/${long} HTTP/1.1`)).toBe('431');
      expect(await statusOf('GET / HTTP/1.1', `authorization: Bearer ${long}`)).toBe('431');
    }
  });
});

describe('a path', () => {
  test('that does not exist is 404, below /v1 in the shape of OpenAI, with a key or without', async () => {
    for (const path of [
      '/nope',
      '/v1',
      '/v1/',
      '/v1/acme',
      '/v1/acme/a/b/c/d',
      '/admin/api',
      '/admin/api/nope',
      '/docs/nope',
      '/%2e%2e/etc/passwd',
      '/v2/acme/trash',
    ]) {
      for (const key of [setting.adminKey, undefined]) {
        const answer = await setting.call('GET', path, { key });
        const { error, ...rest } = JSON.parse(answer.text) as { error?: { code: string } };
        expect([path, answer.status]).toEqual([path, 404]);
        if (/^\/v1(?:\/|$)/.test(path)) expect(error?.code).toBe('unknown_url');
        else expect(rest).toEqual({ detail: 'Not Found' });
        expect(answer.headers.get('content-type')).toStartWith('application/json');
      }
    }
  });

  test('that exists, asked with another method, is 405 with Allow', async () => {
    const { workspace } = setting;
    const CASES: [method: string, path: string, allow: string][] = [
      ['POST', `/v1/${workspace}/presigned/url`, 'GET'],
      ['GET', `/v1/${workspace}/upload/confirm`, 'POST'],
      ['PATCH', `/v1/metadata/${workspace}/x`, 'PUT'],
      ['POST', `/v1/${workspace}/trash`, 'DELETE, GET'],
      ['DELETE', '/admin/api/workspaces', 'GET, POST'],
      ['PUT', '/healthz', 'GET'],
      ['POST', '/docs', 'GET'],
    ];
    for (const [method, path, allow] of CASES) {
      const answer = await setting.call(method, path, { key: setting.adminKey });
      expect([answer.status, answer.text]).toEqual([405, '{"detail":"Method Not Allowed"}']);
      expect(answer.headers.get('allow')?.split(', ').sort().join(', ')).toBe(allow);
    }
  });
});
