// Random requests: whatever comes, the service neither fails nor tells of its insides.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shared } from '../support/shared.ts';
import { type Answer, expectStatus } from './support/caller.ts';
import { readDocument } from './support/contract.ts';
import { sendRaw } from './support/raw-request.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());
const templates = Object.keys((await readDocument(setting.url)).paths);

const utf8 = (text: string) => new TextEncoder().encode(text);
const JSON_TYPE = { 'content-type': 'application/json' };

/** What an answer to garbage may be: a refusal (or an ordinary answer), never a failure of the service's own. */
function expectOrderly(answer: Answer): void {
  const isWithoutImages =
    answer.status === 501 && answer.text.includes('No model that makes images is configured');
  if (!isWithoutImages) expect(answer.status).toBeLessThan(500);
  expect(answer.text).not.toMatch(/(?:\n|\\n)\s+at |node_modules|\.ts:\d/);
}

describe('garbage', () => {
  const word = fc.oneof(
    fc.constantFrom(
      'v1',
      'metadata',
      'acme',
      'trash',
      'restore',
      'archive',
      'list',
      'un-archive',
      'file',
      'download',
      'url',
      'detail',
      'empty',
      'presigned',
      'upload',
      'confirm',
      'admin',
      'api',
      'workspaces',
      'keys',
      'users',
      'docs',
      '',
      '.',
      '..',
      '%2e%2e',
      '%00',
      '%',
      '*',
      '{w}',
      ':x',
    ),
    fc.uuid(),
    fc.string({ unit: 'binary', maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed())),
    fc.webSegment(),
  );
  /** A path of the document, with the workspace's name or anything at its placeholders. */
  const known = fc
    .tuple(fc.constantFrom(...templates), fc.infiniteStream(fc.oneof(fc.constant(setting.workspace), word)))
    .map(([template, words]) => template.replaceAll(/\{\w+\}/g, () => words.next().value ?? ''));
  const path = fc.oneof(
    known,
    fc.array(word, { maxLength: 7 }).map((words) => `/${words.join('/')}`),
  );
  const pair = fc
    .tuple(
      fc.constantFrom('expires_in', 'limit', 'cursor', 'all'),
      fc.oneof(fc.webSegment(), fc.integer().map(String)),
    )
    .map((parts) => parts.join('='));
  const search = fc
    .oneof(
      fc.webQueryParameters(),
      fc.array(pair, { maxLength: 3 }).map((pairs) => pairs.join('&')),
    )
    .map((text) => (text === '' ? '' : `?${text}`));
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS');
  const header = fc.string({ unit: 'grapheme-ascii', maxLength: 30 }).map((text) => text.trim());
  const headers = fc.record(
    {
      'content-type': fc.oneof(fc.constant('application/json'), header),
      authorization: fc.oneof(fc.constant('Bearer x'), header),
      cookie: fc.oneof(
        header,
        header.map((text) => `atrium_session=${text}`),
      ),
      'x-request-id': header,
      range: header,
      origin: header,
      accept: header,
      'x-forwarded-proto': header,
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json({ maxDepth: 4 }).map(utf8),
    fc
      .record(
        { temp_key: fc.anything(), folder: fc.anything(), document_metadata: fc.anything() },
        { requiredKeys: [] },
      )
      .map((value) => utf8(toJson(value))),
  );
  const toJson = (value: unknown): string =>
    JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? String(item) : item));

  test('never makes the service fail, nor tell of its insides', async () => {
    const key = fc.constantFrom(setting.adminKey, undefined);
    await fc.assert(
      fc.asyncProperty(
        method,
        path,
        search,
        key,
        headers,
        body,
        async (verb, where, query, sentKey, sent, bytes) => {
          const withBody = verb === 'GET' || verb === 'OPTIONS' ? {} : { body: Uint8Array.from(bytes) };
          expectOrderly(
            await setting.call(verb, where + query, { key: sentKey, headers: sent, ...withBody }),
          );
        },
      ),
      { numRuns: 800 },
    );
    expect(setting.service.child.output()).not.toContain('unexpected failure');
  });

  const send = (method: string, path: string, body: Uint8Array<ArrayBuffer>): Promise<Answer> =>
    setting.call(method, path, { key: setting.adminKey, body, headers: JSON_TYPE });

  test('in the bodies of known operations never makes them fail', async () => {
    const value = fc.anything({ maxDepth: 3, withNullPrototype: false });
    const metadata = fc.record(
      {
        name: value,
        tags: value,
        categories: value,
        slots: value,
        access: value,
        summary: value,
        file_size: value,
        file_hash: value,
        owner_id: value,
        status: value,
        created_at: value,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(value, value, metadata, async (temp_key, folder, document_metadata) => {
        const whole = utf8(toJson({ temp_key, folder, document_metadata }));
        expectOrderly(await send('POST', `/v1/${setting.workspace}/upload/confirm`, whole));
        expectOrderly(
          await send('PUT', `/v1/metadata/${setting.workspace}/any.txt`, utf8(toJson(document_metadata))),
        );
      }),
      { numRuns: 200 },
    );
    expect(setting.service.child.output()).not.toContain('unexpected failure');
  });

  test('on the connection itself does not reach the others', async () => {
    const HEADS = [
      '\u0000\u0001\u0002',
      'GET',
      'GET / HTTP/9.9',
      'FOO / HTTP/1.1',
      'GET http://[ HTTP/1.1',
      'GET /%zz HTTP/1.1',
      'TRACE / HTTP/1.1',
      `GET /${'x'.repeat(100_000)} HTTP/1.1`,
      'POST / HTTP/1.1\r\ncontent-length: -1',
      'POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked',
    ];
    for (const head of HEADS) {
      const raw = await sendRaw(setting.url, { head: [head] });
      expect(raw === '' || /^HTTP\/1\.1 (200|4\d\d|501|505) /.test(raw) ? '' : `${head}: ${raw}`).toBe('');
      expectStatus(await setting.call('GET', '/healthz'), 200);
    }
  });
});
