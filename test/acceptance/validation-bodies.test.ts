// What a 422 says of a body, entry by entry.

import { describe, expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import type { Entry } from './support/entries.ts';
import * as entry from './support/entries.ts';
import { createEntriesOf } from './support/refused-entries.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());

const entriesOf = createEntriesOf(setting);

const utf8 = (text: string) => new TextEncoder().encode(text);
const CONFIRM = ['POST', '/v1/{w}/upload/confirm'] as const;
const PATCH = ['PUT', '/v1/metadata/{w}/any.txt'] as const;

describe('a body', () => {
  test('that is absent, or null, is missing', async () => {
    for (const [method, path] of [CONFIRM, PATCH]) {
      expect(await entriesOf(method, path)).toEqual([entry.missing(['body'], null)]);
      expect(await entriesOf(method, path, { json: null })).toEqual([entry.missing(['body'], null)]);
      const headers = { 'content-type': 'application/json' };
      expect(await entriesOf(method, path, { body: utf8(''), headers })).toEqual([
        entry.missing(['body'], null),
      ]);
    }
  });

  test.each([[[]], [[{}]], ['text'], [3], [true]])('that is %j is not an object', async (json) => {
    for (const [method, path] of [CONFIRM, PATCH])
      expect(await entriesOf(method, path, { json })).toEqual([entry.notObject(['body'], json)]);
  });

  test('lacks required fields', async () => {
    expect(await entriesOf(...CONFIRM, { json: {} })).toEqual([
      entry.missing(['body', 'temp_key'], {}),
      entry.missing(['body', 'document_metadata'], {}),
    ]);
    const json = { temp_key: 'x', document_metadata: { tags: [] } };
    expect(await entriesOf(...CONFIRM, { json })).toEqual([
      entry.missing(['body', 'document_metadata', 'name'], { tags: [] }),
    ]);
  });

  test('has several mistakes: all are told, in the order of the fields', async () => {
    const json = {
      temp_key: 1,
      folder: 2,
      document_metadata: {
        name: '',
        tags: 'x',
        categories: ['a', 1, null],
        summary: {},
        slots: [],
        access: 'x',
        status: 'secret',
        file_size: 'big',
      },
    };
    const at = (...rest: (string | number)[]) => ['body', 'document_metadata', ...rest];
    const expected = [
      entry.notType('string', ['body', 'temp_key'], 1),
      entry.notType('string', ['body', 'folder'], 2),
      entry.tooShort(at('name'), '', 1),
      entry.notType('list', at('tags'), 'x'),
      entry.notType('string', at('categories', 1), 1),
      entry.notType('string', at('categories', 2), null),
      entry.notType('string', at('summary'), {}),
      entry.notType('dict', at('slots'), []),
      entry.notType('dict', at('access'), 'x'),
      entry.notEnum(at('status'), 'secret', "'public', 'private' or 'deleted'"),
      entry.notInteger(at('file_size'), 'big'),
    ];
    const byPlace = (one: Entry, other: Entry) => one.loc.join().localeCompare(other.loc.join());
    expect((await entriesOf(...CONFIRM, { json })).sort(byPlace)).toEqual(expected.sort(byPlace));
  });

  const METADATA: [metadata: Record<string, unknown>, expected: (loc: string[]) => Entry][] = [
    [{ name: null }, (loc) => entry.notType('string', loc, null)],
    [{ name: 5 }, (loc) => entry.notType('string', loc, 5)],
    [{ name: ['a'] }, (loc) => entry.notType('string', loc, ['a'])],
    [{ name: 'x'.repeat(513) }, (loc) => entry.tooLong(loc, 'x'.repeat(513), 512)],
    [{ tags: {} }, (loc) => entry.notType('list', loc, {})],
    [{ categories: 3 }, (loc) => entry.notType('list', loc, 3)],
    [{ slots: 'x' }, (loc) => entry.notType('dict', loc, 'x')],
    [{ slots: 5 }, (loc) => entry.notType('dict', loc, 5)],
    [{ access: [] }, (loc) => entry.notType('dict', loc, [])],
    [{ summary: 1 }, (loc) => entry.notType('string', loc, 1)],
    [{ file_size: 1.5 }, (loc) => entry.fractional(loc, 1.5)],
    [{ file_size: [1] }, (loc) => entry.notType('int', loc, [1])],
    [{ file_hash: 1 }, (loc) => entry.notType('string', loc, 1)],
  ];

  test.each(METADATA)('of a confirm with %j in its metadata', async (metadata, expected) => {
    const loc = ['body', 'document_metadata', Object.keys(metadata)[0] ?? ''];
    const json = { temp_key: 'x', document_metadata: { name: 'a.txt', ...metadata } };
    expect(await entriesOf(...CONFIRM, { json })).toEqual([expected(loc)]);
  });

  test.each([
    ...METADATA,
    [{ file_size: -1 }, (loc: string[]) => entry.tooSmall(loc, -1, 0)] as (typeof METADATA)[number],
  ])('of a patch with %j', async (json, expected) => {
    expect(await entriesOf(...PATCH, { json })).toEqual([expected(['body', Object.keys(json)[0] ?? ''])]);
  });

  test('of a confirm whose metadata are not an object', async () => {
    for (const document_metadata of [null, [], 'x']) {
      const json = { temp_key: 'x', document_metadata };
      expect(await entriesOf(...CONFIRM, { json })).toEqual([
        entry.notObject(['body', 'document_metadata'], document_metadata),
      ]);
    }
  });

  test('of a confirm with ids, times and e-mails that are none', async () => {
    const at = (...rest: (string | number)[]) => ['body', 'document_metadata', ...rest];
    const refused = async (metadata: Record<string, unknown>) =>
      (
        await entriesOf(...CONFIRM, {
          json: { temp_key: 'x', document_metadata: { name: 'a', ...metadata } },
        })
      )[0];
    expect(await refused({ owner_id: 'zz' })).toEqual({
      type: 'uuid_parsing',
      loc: at('owner_id'),
      msg: expect.stringMatching(/^Input should be a valid UUID, ./),
      input: 'zz',
      ctx: { error: expect.any(String) },
    });
    expect(await refused({ created_at: 'yesterday' })).toMatchObject({
      loc: at('created_at'),
      input: 'yesterday',
    });
    expect(await refused({ access: { curators: ['good@example.com', 'bad'] } })).toEqual({
      type: 'value_error',
      loc: at('access', 'curators', 1),
      msg: 'value is not a valid email address: An email address must have an @-sign.',
      input: 'bad',
      ctx: { reason: 'An email address must have an @-sign.' },
    });
    expect(await refused({ access: { curators: 'bad@example.com' } })).toEqual(
      entry.notType('list', at('access', 'curators'), 'bad@example.com'),
    );
  });
});

describe('malformed JSON', () => {
  const CASES: [text: string, offset: number, error: string][] = [
    ['{', 1, 'Expecting property name enclosed in double quotes'],
    ['{a:1}', 1, 'Expecting property name enclosed in double quotes'],
    ["{'a':1}", 1, 'Expecting property name enclosed in double quotes'],
    ['{"a":}', 5, 'Expecting value'],
    ['{"a":', 5, 'Expecting value'],
    ['{"a"', 4, "Expecting ':' delimiter"],
    ['{"a" 1}', 5, "Expecting ':' delimiter"],
    ['{"a":1', 6, "Expecting ',' delimiter"],
    ['{"a":1 "b":2}', 7, "Expecting ',' delimiter"],
    ['{"a":1,}', 6, 'Illegal trailing comma before end of object'],
    ['[1,]', 2, 'Illegal trailing comma before end of array'],
    ['[1 2]', 3, "Expecting ',' delimiter"],
    ['[1', 2, "Expecting ',' delimiter"],
    ['[', 1, 'Expecting value'],
    ['nul', 0, 'Expecting value'],
    ['-', 0, 'Expecting value'],
    ['01', 1, 'Extra data'],
    ['NaN', 0, 'Expecting value'],
    ['   ', 3, 'Expecting value'],
    ['{"a":1} x', 8, 'Extra data'],
    ['"abc', 0, 'Unterminated string starting at'],
    ['{"a":"\\', 5, 'Unterminated string starting at'],
    ['"\\x"', 1, 'Invalid \\escape'],
    ['"\\u12"', 2, 'Invalid \\uXXXX escape'],
    ['"a\nb"', 2, 'Invalid control character at'],
    ['{"é": }', 6, 'Expecting value'],
    ['{"😀": }', 6, 'Expecting value'],
  ];

  test.each(CASES)('%j', async (text, offset, error) => {
    const headers = { 'content-type': 'application/json' };
    expect(await entriesOf(...CONFIRM, { body: utf8(text), headers })).toEqual([
      entry.malformedJson(offset, error),
    ]);
  });
});
