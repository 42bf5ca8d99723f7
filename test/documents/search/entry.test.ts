// The entry of a large document: the same as that of a small one, and other work of the event loop goes on while it is made.

import { describe, expect, test } from 'bun:test';
import { newId } from '../../../src/core/ids.ts';
import { toNormalForm } from '../../../src/core/normal-form.ts';
import { curatorsOf } from '../../../src/documents/document.ts';
import { type Indexed, toSearchEntry } from '../../../src/documents/search/entry.ts';
import { shareHeld } from '../../support/event-loop.ts';
import { newDocument } from '../new-document.ts';
import { createRandom } from './corpus.ts';

const viewer = { workspaceId: 'acme', userId: newId(), email: 'a@b.example', admin: true };
const documentOf = (fields: Partial<Indexed>): Indexed => ({
  ...newDocument(viewer),
  curators: curatorsOf(null),
  ...fields,
});

/** So much of it as a request can bring. */
const fill = (text: string, bytes = 900_000): string =>
  text.repeat(Math.ceil(bytes / Buffer.byteLength(text)));
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

describe('a megabyte of metadata holds the event loop for a small part of the time that it takes', () => {
  test.each<[string, Partial<Indexed>]>([
    ['Arabic ligatures', { summary: fill('ﷺ ') }],
    ['Chinese', { summary: fill('水泵的过滤器') }],
    ['Thai', { summary: fill('ก้') }],
    ['accents', { summary: fill('é') }],
    ['numbers', { slots: { a: numbers(130_000) } }],
    ['texts', { slots: { a: numbers(90_000).map((each) => each.toString(36)) } }],
    ['keys', { slots: Object.fromEntries(numbers(80_000).map((each) => [each.toString(36), 1])) }],
    ['tags', { tags: numbers(90_000).map((each) => each.toString(36)) }],
  ])('%s', async (_, fields) => {
    expect(await shareHeld(() => toSearchEntry(documentOf(fields)))).toBeLessThan(0.3);
  });
});

test('a long text is normalised as a whole, wherever its steps end', async () => {
  const random = createRandom(3);
  const pieces = [
    'a',
    'É',
    ' ',
    'ﷺ',
    '한',
    'e\u0301\u0323',
    '\u0323',
    'ｶﾞ',
    '😀',
    '\u{1d165}\u{1d16e}',
    'Σ',
    '\ud800',
    '水',
  ];
  for (let round = 0; round < 20; round++) {
    let summary = '';
    while (summary.length < 60_000)
      summary += random.pick(pieces).repeat(1 + random.whole(random.whole(40) + 1));
    const entry = await toSearchEntry(documentOf({ summary, slots: { a: [summary] } }));
    const expected = toNormalForm(summary.trim(), 'NFKD').toLowerCase();
    expect(entry.summary === expected).toBe(true);
    expect(entry.slots?.['a']?.[0] === expected).toBe(true);
  }
});
