// The passages of any text: nothing of it is lost, each is exactly a part of it, and none is too long.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  PASSAGE_LENGTH_MAX,
  PASSAGE_TOKENS_MAX,
  PASSAGE_TOKENS_MIN,
} from '../../../src/documents/content/limits.ts';
import { createOutline, type Outline } from '../../../src/documents/content/outline.ts';
import { type Passage, splitPassages } from '../../../src/documents/content/passages.ts';
import { estimateTokens } from '../../../src/documents/content/tokens.ts';

function passagesOf(state: (outline: Outline) => void): { text: string; passages: Passage[] } {
  const outline = createOutline();
  state(outline);
  const text = outline.text();
  return { text, passages: [...splitPassages(text, outline.blocks(), 'en')] };
}

/** What a document may be made of, in any order. */
const word = fc.oneof(
  fc.lorem({ maxCount: 1 }),
  fc.constantFrom(
    '日本語の文章です。',
    'ปั๊มน้ำ',
    '😀',
    'e\u0301',
    'Ωμέγα',
    'x'.repeat(900),
    '漢'.repeat(700),
    '.',
    '!',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const sentences = fc.array(word, { maxLength: 120 }).map((words) => words.join(' '));
const step = fc.oneof(
  fc.record({ kind: fc.constant('paragraph' as const), text: sentences }),
  fc.record({
    kind: fc.constant('lines' as const),
    text: fc.array(sentences, { maxLength: 8 }).map((all) => all.join('\n')),
  }),
  fc.record({
    kind: fc.constant('heading' as const),
    level: fc.integer({ min: 1, max: 6 }),
    text: sentences,
  }),
  fc.record({ kind: fc.constant('row' as const), cells: fc.array(sentences, { maxLength: 5 }) }),
  fc.record({ kind: fc.constant('page' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const state = (steps: readonly Step[]) => (outline: Outline) => {
  for (const each of steps) {
    if (each.kind === 'heading') outline.heading(each.level, each.text);
    else if (each.kind === 'row') outline.row(each.cells);
    else if (each.kind === 'page') outline.page();
    else outline[each.kind](each.text);
  }
};
const documents = fc.array(step, { maxLength: 25 });

/** Every property is about the same documents. */
const holds = (property: (document: { text: string; passages: Passage[] }) => void): void =>
  fc.assert(
    fc.property(documents, (steps) => property(passagesOf(state(steps)))),
    { numRuns: 60 },
  );

describe('the passages of any document', () => {
  test('are parts of its text, by offsets in characters', () =>
    holds(({ text, passages }) => {
      const characters = [...text];
      for (const passage of passages)
        expect(characters.slice(passage.start, passage.end).join('')).toBe(passage.text);
    }));

  test('hold everything that is not blank', () =>
    holds(({ text, passages }) => {
      const characters = [...text];
      let covered = 0;
      for (const { start, end } of passages) {
        expect(characters.slice(covered, start).join('').trim()).toBe('');
        covered = Math.max(covered, end);
      }
      expect(characters.slice(covered).join('').trim()).toBe('');
    }));

  test('follow one another, and each says something that the one before does not', () =>
    holds(({ passages }) => {
      for (const [index, passage] of passages.entries()) {
        const before = passages[index - 1];
        if (before === undefined) continue;
        expect(passage.start).toBeGreaterThan(before.start);
        expect(passage.end).toBeGreaterThan(before.end);
      }
    }));

  test('are never too long, and begin and end with something', () =>
    holds(({ passages }) => {
      for (const { text } of passages) {
        expect(estimateTokens(text)).toBeLessThanOrEqual(PASSAGE_TOKENS_MAX + 0.01);
        expect(text.length).toBeLessThanOrEqual(PASSAGE_LENGTH_MAX);
        expect(text).toBe(text.trim());
        expect(text.isWellFormed()).toBe(true);
      }
    }));
});

const SENTENCE = 'The pump has to be switched off before anything of it is opened by hand.';

describe('the passages of prose', () => {
  const prose = (sentences: number) =>
    passagesOf((outline) => outline.paragraph(Array.from({ length: sentences }, () => SENTENCE).join(' ')));

  test('hold whole sentences, 200 to 400 tokens of them, and repeat a little', () => {
    const { passages } = prose(400);
    expect(passages.length).toBeGreaterThan(10);
    for (const { text } of passages.slice(0, -1)) {
      expect(text.replaceAll(SENTENCE, '').trim()).toBe('');
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(PASSAGE_TOKENS_MIN);
    }
    for (const [index, { start }] of passages.entries()) {
      const before = passages[index - 1];
      if (before !== undefined) expect(before.end - start).toBe(2 * SENTENCE.length + 1);
    }
  });

  test('begin with their heading, whose path they have', () => {
    const long = Array.from({ length: 40 }, () => SENTENCE).join(' ');
    const { passages } = passagesOf((outline) => {
      for (const chapter of ['Pumps', 'Seals']) {
        outline.heading(1, chapter);
        outline.heading(2, 'Oil');
        outline.paragraph(long);
      }
    });
    expect(passages.map(({ heading }) => heading)).toEqual(['Pumps', 'Pumps › Oil', 'Seals', 'Seals › Oil']);
    expect(passages[2]?.text).toStartWith('Seals\n\nOil\n\nThe pump');
  });

  test('have one page each', () => {
    const { passages } = passagesOf((outline) => {
      for (const text of ['one', 'two', 'three']) {
        outline.page();
        outline.paragraph(text);
      }
    });
    expect(passages.map(({ page, text }) => [page, text])).toEqual([
      [1, 'one'],
      [2, 'two'],
      [3, 'three'],
    ]);
  });
});

test('rows of a table are never divided where they fit', () => {
  const row = (number: number) => [`part ${number}`, 'price', SENTENCE];
  const { passages } = passagesOf((outline) => {
    for (let number = 0; number < 200; number++) outline.row(row(number));
  });
  const rows = new Set(Array.from({ length: 200 }, (_, number) => row(number).join('\t')));
  for (const { text } of passages) for (const line of text.split('\n')) expect(rows.has(line)).toBe(true);
});
