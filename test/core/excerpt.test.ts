// The part of a text that deals with what another text says.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createExcerpts, sentencesOf, termsOf } from '../../src/core/excerpt.ts';

const excerptOf = (text: string, about: string, lengthMax = 300) =>
  createExcerpts(text, lengthMax)(termsOf(about));

test('is the sentence that has most of the words, with the one beside it that has the rest', () => {
  const text =
    'Visitors are welcome. In summer the shop is open from nine to five. In winter it opens at ten.\nDogs stay outside.';
  expect(excerptOf(text, 'open from nine to five').text).toBe(
    'In summer the shop is open from nine to five.',
  );
  expect(excerptOf(text, 'dogs').text).toBe('Dogs stay outside.');
  expect(excerptOf(text, 'from nine in summer, from ten in winter').text).toBe(
    'In summer the shop is open from nine to five. In winter it opens at ten.',
  );
});

test('is found in any script, also in those without spaces', () => {
  expect(excerptOf('营业时间为上午九点到下午五点。冬季从十点开始。', '冬季几点开始？').text).toBe(
    '冬季从十点开始。',
  );
  expect(excerptOf('Магазин открыт. Зимой он закрыт.', 'закрыт ли зимой?').text).toBe('Зимой он закрыт.');
  expect(excerptOf('الضخ متوقف. يفتح المتجر في الشتاء.', 'الشتاء').text).toBe('يفتح المتجر في الشتاء.');
});

test('is no longer than it may be, and cut between words around what it is about', () => {
  const long = `${'x '.repeat(400)}reset the pump ${'y '.repeat(400)}`;
  const { text } = excerptOf(long, 'pump', 100);
  expect(text).toStartWith('pump y');
  expect(text.length).toBeLessThanOrEqual(100);
  expect(text).not.toMatch(/^ | $/);
});

test('says which share of the words it has', () => {
  expect(excerptOf('The pump is reset.', 'pump reset')).toMatchObject({ share: 1, shared: 2 });
  expect(excerptOf('The pump is reset.', 'valve')).toMatchObject({ share: 0, shared: 0 });
  expect(excerptOf('', 'valve')).toEqual({ text: '', share: 0, shared: 0 });
  expect(excerptOf('The pump.', '')).toEqual({ text: 'The pump.', share: 0, shared: 0 });
});

test('is a part of the text, whatever both are', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.integer({ min: 1, max: 60 }),
      (text, about, lengthMax) => {
        const excerpt = excerptOf(text, about, lengthMax);
        expect(text).toContain(excerpt.text);
        expect(excerpt.text.length).toBeLessThanOrEqual(lengthMax);
        expect(excerpt.share).toBeGreaterThanOrEqual(0);
        expect(excerpt.share).toBeLessThanOrEqual(1);
        for (const { start, end } of sentencesOf(text)) expect(text.slice(start, end).trim()).not.toBe('');
      },
    ),
  );
});
