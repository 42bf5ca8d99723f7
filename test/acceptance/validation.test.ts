// What a 422 says, entry by entry, for Area A and the administration.

import { describe, expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { operationsOf, readDocument, requiresHeader } from './support/contract.ts';
import type { Entry } from './support/entries.ts';
import * as entry from './support/entries.ts';
import { createEntriesOf } from './support/refused-entries.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());

const entriesOf = createEntriesOf(setting);

/** Those that say they require it; `openapi.test.ts` holds the list against the interface. */
const OPERATIONS = operationsOf(await readDocument(setting.url))
  .filter(({ operation }) => requiresHeader(operation, 'APIKeyHeader'))
  .map(({ method, path }): [string, string] => [
    method,
    path.replace('{workspace_id}', '{w}').replaceAll(/\{\w{2,}\}/g, 'x'),
  ]);

describe('the header APIKeyHeader', () => {
  test.each(OPERATIONS)('is required by %s %s', async (method, path) => {
    expect(await entriesOf(method, path, { key: undefined })).toEqual([
      entry.missing(['header', 'APIKeyHeader'], null),
    ]);
  });

  test('is told together with mistakes in the query, after them', async () => {
    expect(await entriesOf('GET', '/v1/{w}/presigned/url?expires_in=0', { key: undefined })).toEqual([
      entry.tooSmall(['query', 'expires_in'], '0', 1),
      entry.missing(['header', 'APIKeyHeader'], null),
    ]);
  });
});

describe('a query parameter', () => {
  const SECONDS = ['query', 'expires_in'];
  const LIMIT = ['query', 'limit'];
  const CASES: [path: string, expected: Entry[]][] = [
    ['/v1/{w}/presigned/url?expires_in=abc', [entry.notInteger(SECONDS, 'abc')]],
    ['/v1/{w}/presigned/url?expires_in=', [entry.notInteger(SECONDS, '')]],
    ['/v1/{w}/presigned/url?expires_in', [entry.notInteger(SECONDS, '')]],
    ['/v1/{w}/presigned/url?expires_in=1.5', [entry.notInteger(SECONDS, '1.5')]],
    ['/v1/{w}/presigned/url?expires_in=1e3', [entry.notInteger(SECONDS, '1e3')]],
    ['/v1/{w}/presigned/url?expires_in=0x10', [entry.notInteger(SECONDS, '0x10')]],
    ['/v1/{w}/presigned/url?expires_in=%D9%A3', [entry.notInteger(SECONDS, '٣')]],
    ['/v1/{w}/presigned/url?expires_in=0', [entry.tooSmall(SECONDS, '0', 1)]],
    ['/v1/{w}/presigned/url?expires_in=-1', [entry.tooSmall(SECONDS, '-1', 1)]],
    ['/v1/{w}/presigned/url?expires_in=604801', [entry.tooLarge(SECONDS, '604801', 604_800)]],
    [
      '/v1/{w}/presigned/url?expires_in=99999999999999999999',
      [entry.tooLarge(SECONDS, '99999999999999999999', 604_800)],
    ],
    ['/v1/{w}/file/x/download/url?expires_in=604801', [entry.tooLarge(SECONDS, '604801', 604_800)]],
    ['/v1/{w}/file/x/download/url?expires_in=x', [entry.notInteger(SECONDS, 'x')]],
    ['/v1/{w}/trash?all=maybe', [entry.notBoolean(['query', 'all'], 'maybe')]],
    ['/v1/{w}/trash?all=', [entry.notBoolean(['query', 'all'], '')]],
    ['/v1/{w}/trash?limit=0&all=2', [entry.tooSmall(LIMIT, '0', 1), entry.notBoolean(['query', 'all'], '2')]],
    ['/v1/metadata/{w}/archive/list?limit=x', [entry.notInteger(LIMIT, 'x')]],
    ['/admin/api/workspaces?limit=101', [entry.tooLarge(LIMIT, '101', 100)]],
    ['/admin/api/workspaces/{w}/keys?limit=0', [entry.tooSmall(LIMIT, '0', 1)]],
    ['/admin/api/workspaces/{w}/users?limit=-5', [entry.tooSmall(LIMIT, '-5', 1)]],
  ];

  test.each(CASES)('%s', async (path, expected) => {
    expect(await entriesOf('GET', path)).toEqual(expected);
  });

  test('given twice counts as its last value; unknown ones are ignored', async () => {
    const path = `/v1/${setting.workspace}/presigned/url`;
    for (const search of [
      '?expires_in=x&expires_in=7',
      '?expires_in=7&unknown=x&x',
      '?expires_in=7.0',
      '?expires_in=%207',
      '?&&expires_in=7&',
    ])
      expect((await setting.call('GET', path + search, { key: setting.adminKey })).status).toBe(201);
    expect(await entriesOf('GET', '/v1/{w}/presigned/url?expires_in=7&expires_in=x')).toEqual([
      entry.notInteger(SECONDS, 'x'),
    ]);
  });
});

describe('the administration', () => {
  const KEYS = ['POST', '/admin/api/workspaces/{w}/keys'] as const;
  const SCOPES =
    "'documents:read', 'documents:write', 'models', 'chat', 'bots', 'metrics', 'admin' or 'operator'";

  test('a key needs a name and scopes that exist', async () => {
    expect(await entriesOf(...KEYS, { json: {} })).toEqual([
      entry.missing(['body', 'name'], {}),
      entry.missing(['body', 'scopes'], {}),
    ]);
    expect(await entriesOf(...KEYS, { json: { name: '', scopes: ['documents:read', 'root'] } })).toEqual([
      entry.tooShort(['body', 'name'], '', 1),
      entry.notEnum(['body', 'scopes', 1], 'root', SCOPES),
    ]);
    const [none] = await entriesOf(...KEYS, { json: { name: 'a', scopes: [] } });
    expect(none).toMatchObject({ type: 'too_short', loc: ['body', 'scopes'], input: [] });
  });

  test('a key has an expiry in the future and limits above zero', async () => {
    const refused = async (more: object) =>
      (await entriesOf(...KEYS, { json: { name: 'a', scopes: ['chat'], ...more } }))[0];
    expect(await refused({ expires_at: '2001-01-01T00:00:00Z' })).toMatchObject({
      type: 'value_error',
      loc: ['body', 'expires_at'],
    });
    expect(await refused({ expires_at: 'soon' })).toMatchObject({
      loc: ['body', 'expires_at'],
      input: 'soon',
    });
    const limits = ['body', 'limits'];
    expect(await refused({ limits: { requests_per_minute: 0 } })).toEqual(
      entry.tooSmall([...limits, 'requests_per_minute'], 0, 1),
    );
    expect(await refused({ limits: { budget_per_month: 0 } })).toEqual({
      type: 'greater_than',
      loc: [...limits, 'budget_per_month'],
      msg: 'Input should be greater than 0',
      input: 0,
      ctx: { gt: 0 },
    });
    expect(await refused({ user_email: 'nobody' })).toMatchObject({
      type: 'value_error',
      loc: ['body', 'user_email'],
    });
  });

  test('a workspace has a name that can stand in a URL and is not reserved', async () => {
    const refused = (json: unknown) => entriesOf('POST', '/admin/api/workspaces', { json });
    expect(await refused({})).toEqual([entry.missing(['body', 'id'], {})]);
    for (const id of ['x', 'Upper', '-a', 'a_b', 'ü1', 'a/b', 'a'.repeat(64), ''])
      expect(await refused({ id })).toEqual([entry.noMatch(['body', 'id'], id, '^[a-z0-9][a-z0-9-]{1,62}$')]);
    const reserved =
      'filter metadata chat models completions images embeddings admin api v1 docs temp chatapp compute healthz readyz ' +
      'metrics file upload trash restore';
    for (const id of reserved.split(' '))
      expect(await refused({ id })).toMatchObject([{ loc: ['body', 'id'], input: id }]);
  });

  test('ids in paths are UUIDs', async () => {
    for (const path of ['keys/x', 'users/x']) {
      const [wrong] = await entriesOf('DELETE', `/admin/api/workspaces/{w}/${path}`);
      expect(wrong).toMatchObject({
        type: 'uuid_parsing',
        loc: ['path', path.startsWith('keys') ? 'key_id' : 'user_id'],
      });
    }
  });
});
