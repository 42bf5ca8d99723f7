// Normalisation is that of the engine, in time that grows with the text.

import { expect, test } from 'bun:test';
import { toNormalForm } from '../../src/core/normal-form.ts';

const FORMS = ['NFC', 'NFKC', 'NFKD'] as const;

/** All marks, and what decomposes into marks or ends in some. */
const CHARACTERS = Array.from({ length: 0x1_10_00 + 0x1_00_00 }, (_, point) => point)
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))
  .filter((character) => /[\p{M}\uff9e\uff9f]/u.test(character.normalize('NFKD')));

function* randomTexts(count: number): Generator<string> {
  let state = 20_261_126;
  const below = (bound: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  for (let made = 0; made < count; made++) {
    // Of few different ones, too, so that classes repeat.
    const few = Array.from({ length: 1 + below(40) }, () => CHARACTERS[below(CHARACTERS.length)] ?? '');
    const length = below(400);
    yield Array.from({ length }, () => (below(60) === 0 ? 'a' : (few[below(few.length)] ?? ''))).join('');
  }
}

test.each(FORMS)('%s of long runs of marks is what the engine makes of them', (form) => {
  expect(CHARACTERS.length).toBeGreaterThan(3000);
  for (const text of randomTexts(500)) expect(toNormalForm(text, form)).toBe(text.normalize(form));
  for (const text of ['', 'é', 'ﬁ '.repeat(100), `é${'\u0323\u0301'.repeat(40)}한글`, '\ud800'.repeat(100)])
    expect(toNormalForm(text, form)).toBe(text.normalize(form));
});

test.each(FORMS)(
  '%s of thirty times as many marks as the engine takes does not take 900 times as long',
  (form) => {
    // Processor time, because other work on the machine decides the rest.
    const timeOf = (marks: number, normalise: (text: string) => string): number => {
      const before = process.cpuUsage();
      normalise(`a${'\u0301\u0316'.repeat(marks / 2)}`);
      return process.cpuUsage(before).user;
    };
    const byEngine = timeOf(16_000, (text) => text.normalize(form));
    expect(timeOf(480_000, (text) => toNormalForm(text, form)) / byEngine).toBeLessThan(100);
  },
);
