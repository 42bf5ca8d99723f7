// Whatever names and metadata go in come back exactly, through confirm, patch and detail.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shared } from '../support/shared.ts';
import { type Answer, expectStatus } from './support/caller.ts';
import { canonicalJson, jsonObjectText, jsonText, storableText } from './support/json-text.ts';
import type { DocumentRecord } from './support/library.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());
const person = await setting.people.person();

const name = storableText({ minLength: 1, maxLength: 40 }).filter(
  (text) => text !== '' && text !== '.' && text !== '..',
);
const label = storableText({ minLength: 1, maxLength: 20 }).filter((text) => text !== '');
const labels = fc.option(fc.array(label, { maxLength: 5 })).map((list) => JSON.stringify(list));
const summary = fc.option(storableText({ maxLength: 200 })).map((text) => JSON.stringify(text));
const access = fc.oneof(
  fc.constant('null'),
  jsonObjectText.filter((text) => !Object.hasOwn(JSON.parse(text), 'curators')),
  fc
    .tuple(fc.array(fc.emailAddress(), { maxLength: 3 }), jsonText)
    .map(([curators, more]) => `{"curators":${JSON.stringify(curators)},"more":${more}}`),
);

/** Field → its JSON text; some or all of what a patch may set. */
const metadata = fc.record(
  { tags: labels, categories: labels, summary, slots: fc.oneof(fc.constant('null'), jsonObjectText), access },
  { requiredKeys: [] },
);

const toText = (fields: Record<string, string>): string =>
  `{${Object.entries(fields)
    .map(([field, text]) => `${JSON.stringify(field)}:${text}`)
    .join(',')}}`;

const sendText = (method: string, path: string, text: string): Promise<Answer> =>
  setting.call(method, path, {
    key: person.key,
    body: new TextEncoder().encode(text),
    headers: { 'content-type': 'application/json' },
  });

/** The fields of a record whose JSON text is known, in comparable form. */
function fieldsOf(answer: Answer, fields: Record<string, string>): Record<string, string> {
  const entries: [string, unknown][] = Object.entries(
    JSON.parse(answer.text, (_key: string, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' && context?.source !== undefined ? JSON.rawJSON(context.source) : value,
    ) as object,
  );
  const given = entries.filter(([field]) => Object.hasOwn(fields, field));
  return Object.fromEntries(given.map(([field, value]) => [field, canonicalJson(JSON.stringify(value))]));
}

const canonical = (fields: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, canonicalJson(text)]));

async function confirm(fields: Record<string, string>): Promise<{ answer: Answer; record: DocumentRecord }> {
  const temp_key = JSON.stringify(await person.library.uploaded());
  const body = toText({ temp_key, document_metadata: toText(fields) });
  const answer = await sendText('POST', `/v1/${setting.workspace}/upload/confirm`, body);
  expectStatus(answer, 201);
  return { answer, record: JSON.parse(answer.text) as DocumentRecord };
}

describe('metadata', () => {
  test('of any kind are read back exactly after a confirm, by id and by name', async () => {
    await fc.assert(
      fc.asyncProperty(name, metadata, async (given, more) => {
        const fields: Record<string, string> = { name: JSON.stringify(given), ...more };
        const { answer, record } = await confirm(fields);
        expect(fieldsOf(answer, fields)).toEqual(canonical(fields));
        for (const reference of [record.id, given]) {
          const detail = await person.library.detail(reference);
          expectStatus(detail, 200);
          expect(canonicalJson(detail.text)).toBe(canonicalJson(answer.text));
        }
      }),
      { numRuns: 150 },
    );
  });

  test('of any kind are read back exactly after a patch; what it did not name is as before', async () => {
    const { record } = await confirm({ name: '"patched.txt"' });
    let before = await person.library.detail(record.id);
    await fc.assert(
      fc.asyncProperty(fc.option(name), metadata, async (renamed, more) => {
        const fields: Record<string, string> = {
          ...more,
          ...(renamed === null ? {} : { name: JSON.stringify(renamed) }),
        };
        const answer = await sendText(
          'PUT',
          `/v1/metadata/${setting.workspace}/${record.id}`,
          toText(fields),
        );
        expectStatus(answer, 200);
        const whole = JSON.parse(before.text) as Record<string, unknown>;
        const untouched = Object.fromEntries(
          Object.keys(whole)
            .filter((field) => !Object.hasOwn(fields, field))
            .map((field) => [field, '']),
        );
        expect(fieldsOf(answer, fields)).toEqual(canonical(fields));
        expect(fieldsOf(answer, untouched)).toEqual(fieldsOf(before, untouched));
        before = await person.library.detail(record.id);
        expect(canonicalJson(before.text)).toBe(canonicalJson(answer.text));
      }),
      { numRuns: 200 },
    );
  });

  test('keep numbers of many digits, or refuse what no reader could take', async () => {
    const { record } = await confirm({ name: '"numbers.txt"' });
    const path = `/v1/metadata/${setting.workspace}/${record.id}`;
    for (const number of [
      '9007199254740993',
      '-0.1234567890123456789012345678901234567890',
      `1${'0'.repeat(300)}`,
      `0.${'0'.repeat(500)}1`,
      '1e308',
      '1e-320',
      '2.50',
    ]) {
      const answer = await sendText('PUT', path, `{"slots":{"n":${number}}}`);
      expectStatus(answer, 200);
      expect(fieldsOf(answer, { slots: '' })).toEqual(canonical({ slots: `{"n":${number}}` }));
    }
    for (const number of [
      '1e309',
      '-1e400',
      '1e999999',
      `1${'0'.repeat(400)}`,
      '1e-20000',
      `0.${'0'.repeat(20_000)}1`,
      '1e-999999999999',
    ])
      expectStatus(await sendText('PUT', path, `{"slots":{"n":${number}}}`), 422);
  });
});

describe('names', () => {
  test('find their document however they are percent-encoded', async () => {
    const encode = (text: string, plain: readonly boolean[], lower: boolean): string =>
      [...text]
        .map((character, index) => {
          if (/[\w.~!$&'()*+,;=:@-]/.test(character) && plain[index % plain.length] === true)
            return character;
          const bytes = [...new TextEncoder().encode(character)];
          const hex = bytes.map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
          return lower ? hex : hex.toUpperCase();
        })
        .join('');
    await fc.assert(
      fc.asyncProperty(
        name,
        fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
        fc.boolean(),
        async (given, plain, lower) => {
          const { record } = await confirm({ name: JSON.stringify(given) });
          const path = `/v1/metadata/${setting.workspace}/${encode(given, plain, lower)}`;
          const detail = await setting.call('GET', `${path}/detail`, { key: person.key });
          expectStatus(detail, 200);
          expect(JSON.parse(detail.text)).toEqual(record);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('keep their extension, and it is the last suffix in lower case', async () => {
    await fc.assert(
      fc.asyncProperty(name, async (given) => {
        const { record } = await confirm({ name: JSON.stringify(given) });
        const suffix = /\.([a-zA-Z0-9]{1,16})$/.exec(given)?.[1]?.toLowerCase() ?? null;
        expect(record.file_type).toBe(suffix);
        expect(record.storage_url.endsWith(suffix === null ? record.id : `${record.id}.${suffix}`)).toBe(
          true,
        );
      }),
      { numRuns: 50, examples: [['A.TXT'], ['a.b.C9'], ['.x'], ['a.'], ['a.b\n'], ['a.txt ']] },
    );
  });
});

describe('folders', () => {
  const segment = storableText({ minLength: 1, maxLength: 12 })
    .map((text) => text.replaceAll(/[/\p{Cc}\u{FFFE}\u{FFFF}]/gu, '_'))
    .filter((text) => text !== '' && text !== '.' && text !== '..');
  const slashes = fc.integer({ min: 1, max: 3 }).map((count) => '/'.repeat(count));
  const edge = fc.integer({ min: 0, max: 3 }).map((count) => '/'.repeat(count));

  test('lose outer and repeated slashes and nothing else', async () => {
    const parts = fc.array(fc.tuple(segment, slashes), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(edge, parts, async (start, pairs) => {
        const folder = start + pairs.map(([text, after]) => text + after).join('');
        const record = await person.library.stored({ name: 'file.txt' }, 'filed', folder);
        const key = [setting.workspace, ...pairs.map(([text]) => text), `${record.id}.txt`].join('/');
        expect(record.storage_url.replace(/^s3:\/\/[^/]+\//, '')).toBe(key);
        expect(await (await fetch(await person.library.link(record.id))).text()).toBe('filed');
      }),
      { numRuns: 100 },
    );
  });
});
