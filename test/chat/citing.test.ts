// Which passages an answer rests on: by the numbers that the model wrote, however the text is cut into deltas; or, where
// it wrote none, by what the answer says.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { citationsOf, createCitingAnswer } from '../../src/chat/citations.ts';
import { createNumbering } from '../../src/chat/numbering.ts';
import type { Passage } from '../../src/chat/turn.ts';

/** The text as it is sent and stored, and the passages that it cites. */
function numbered(deltas: readonly string[], options = {}): { text: string; used: readonly number[] } {
  const numbering = createNumbering(3, options);
  const pushed = deltas.map((delta) => numbering.push(delta));
  return { text: [...pushed, numbering.end()].join(''), used: numbering.used };
}

describe('numbers', () => {
  test.each<[string, string, number[]]>([
    ['Ten [2]. Nine [1], ten [2].', 'Ten [1]. Nine [2], ten [1].', [1, 0]],
    ['Both [3][1] and [1, 3], 【3】, [^3], 【3†source】', 'Both [1][2] and [2][1], [1], [1], [1]', [2, 0]],
    ['None [0] [4] [1, 4] [2026] [1-3] [x] [] [ 1 ]', 'None [0] [4] [1, 4] [2026] [1-3] [x] [] [ 1 ]', []],
    ['Code `a[1]`, ``b[2] ` [3]`` and [2]', 'Code `a[1]`, ``b[2] ` [3]`` and [1]', [1]],
    ['```\na[1]\n\n[2]\n```\n[3]', '```\na[1]\n\n[2]\n```\n[1]', [2]],
    ['A stray ` is no code.\n[2]', 'A stray ` is no code.\n[1]', [1]],
    ['Open [', 'Open [', []],
    ['Open [2', 'Open [2', []],
  ])('of %j', (answer, text, used) => {
    expect(numbered([answer])).toEqual({ text, used });
    expect(numbered([...answer])).toEqual({ text, used });
  });

  test('0 is left out where the model was asked to write it', () => {
    for (const deltas of [['No. [0]'], [...'No. [0]'], ['No. 【0】']])
      expect(numbered(deltas, { asksNone: true })).toEqual({ text: 'No. ', used: [] });
    expect(numbered(['`[0]` [10] [0, 1] [2]'], { asksNone: true }).text).toBe('`[0]` [10] [0, 1] [1]');
  });

  test('are the same, however the text is cut, and only they change', () => {
    const part = fc.constantFrom(
      '[1]',
      '[2]',
      '[9]',
      '[1, 2]',
      '【3】',
      '`',
      '```',
      '\n',
      'a',
      ' ',
      '[',
      ']',
      '[1',
      '†',
    );
    fc.assert(
      fc.property(fc.array(part), fc.array(fc.nat({ max: 60 })), (parts, cuts) => {
        const answer = parts.join('');
        const at = [0, ...cuts.toSorted((a, b) => a - b), answer.length];
        const deltas = at.slice(1).map((end, index) => answer.slice(at[index], end));
        const whole = numbered([answer]);
        expect(numbered(deltas)).toEqual(whole);
        expect(whole.text.replaceAll(/[[【][\d, †]+[\]】]/g, '')).toBe(
          answer.replaceAll(/[[【][\d, †]+[\]】]/g, ''),
        );
        expect(whole.used.every((index) => index < 3)).toBe(true);
      }),
    );
  });

  test('cost time in proportion to the text', () => {
    for (const unit of ['[', '`', '【1†', '[1, ']) {
      const numbering = createNumbering(3);
      let length = 0;
      for (let count = 0; count < 1000; count++) length += numbering.push(unit.repeat(1000)).length;
      expect(length + numbering.end().length).toBe(unit.length * 1_000_000);
    }
  });
});

const HOURS =
  'Visitors are welcome. In summer the shop is open from nine to five. In winter it opens at ten.';
const PUMP = 'The pump is reset by holding the red key for eleven seconds.';
const passage = (text: string, place: Partial<Passage> = {}): Passage => ({
  document_id: text.slice(0, 3),
  name: 'a.pdf',
  page: 2,
  heading: 'Service',
  score: 0.5,
  text,
  ...place,
});
const cite = async (answer: string, used: number[] = [], question = 'When is the shop open?') => {
  const passages = [passage(PUMP), passage(HOURS, { page: null })];
  const citations = await citationsOf({ answer, question, passages, used });
  return citations.map(({ document_id, number, page, quote }) => ({ document_id, number, page, quote }));
};
const PUMP_CITED = { document_id: 'The', number: null, page: 2, quote: PUMP };

describe('an answer that needs support', () => {
  const write = async (deltas: readonly string[], unsupportedText: string | undefined) => {
    const passages = [passage(PUMP)];
    const citing = createCitingAnswer({ question: 'How is it reset?', passages, unsupportedText });
    const text = deltas.map((delta) => citing.push(delta)).join('');
    const { rest, citations } = await citing.end(text);
    return [text + rest, citations.length];
  };
  const NOT_FOUND = 'Not in the documents.';

  test('says that it has none, unless the model has said so', async () => {
    expect(await write(['Ask ', 'a priest.'], NOT_FOUND)).toEqual([`Ask a priest.\n\n${NOT_FOUND}`, 0]);
    expect(await write(['Ask a priest [7', ']'], NOT_FOUND)).toEqual([`Ask a priest [7]\n\n${NOT_FOUND}`, 0]);
    expect(await write([], NOT_FOUND)).toEqual([NOT_FOUND, 0]);
    expect(await write(['Das steht nicht da. [', '0]'], NOT_FOUND)).toEqual(['Das steht nicht da. ', 0]);
  });

  test('is as the model wrote it where it has support, and where it needs none', async () => {
    expect(await write(['With the red key [1].'], NOT_FOUND)).toEqual(['With the red key [1].', 1]);
    expect((await write(['By holding the red key for eleven seconds.'], NOT_FOUND))[1]).toBe(1);
    expect(await write(['Ask a priest. [0]'], undefined)).toEqual(['Ask a priest. [0]', 0]);
  });
});

describe('citations', () => {
  test('quote the sentences that the answer leans on where it has the number', async () => {
    expect(await cite('In winter at ten [1].', [1])).toEqual([
      { document_id: 'Vis', number: 1, page: null, quote: 'In winter it opens at ten.' },
    ]);
    expect(
      await cite('It is always open. [1] From nine to five in summer [2]. Hold the red key [1].', [0, 1]),
    ).toEqual([
      { ...PUMP_CITED, number: 1 },
      {
        document_id: 'Vis',
        number: 2,
        page: null,
        quote: 'In summer the shop is open from nine to five.',
      },
    ]);
    expect((await cite('Sources:\n[1] opens at ten in winter\n', [1]))[0]?.quote).toBe(
      'In winter it opens at ten.',
    );
  });

  test('quote what fits the question where the answer has none of the words', async () => {
    const [german] = await cite('Von neun bis siebzehn Uhr [1].', [1], 'When does the shop open in summer?');
    expect(german?.quote).toBe('In summer the shop is open from nine to five.');
  });

  test('are chosen by the first places of a number and the beginning of a question, however long both are', async () => {
    const repeated = `${'[1] '.repeat(100_000)}In winter at ten [1].`;
    expect((await cite(repeated, [1], 'Is it open in summer?'))[0]?.quote).toStartWith(
      'In summer the shop is open',
    );
    const question = `Visitors? ${'And much more besides. '.repeat(10_000)}In winter it opens at ten.`;
    expect((await cite('Ja [1].', [1], question))[0]?.quote).toBe('Visitors are welcome.');
  });

  test('without numbers are the passages whose words the answer has, beside those of the question', async () => {
    expect(await cite('Hold the red key for eleven seconds.')).toEqual([PUMP_CITED]);
    expect((await cite('From nine to five.')).map(({ document_id }) => document_id)).toEqual(['Vis']);
  });

  test.each([
    'Echo: When is the shop open?',
    'I cannot find this in the documents.',
    'Yes.',
    'You are welcome!',
    '',
    'The valve is turned by hand, twice a year, in spring.',
    '主营业务',
  ])('there are none for %j, which rests on none', async (answer) => {
    expect(await cite(answer)).toEqual([]);
  });

  test('there are none for an answer that repeats the question, and nothing else', async () => {
    expect(await cite('The shop is open in summer.', [], 'Is the shop open in summer?')).toEqual([]);
  });

  test('keep the place and the score of the passage, and no quote where it has no text', async () => {
    const named = passage('', { document_id: 'x' });
    expect(await citationsOf({ answer: 'See [1].', question: 'x', passages: [named], used: [0] })).toEqual([
      { number: 1, document_id: 'x', name: 'a.pdf', page: 2, heading: 'Service', quote: null, score: 0.5 },
    ]);
  });

  /** Lines that have words of every passage, so that each has to be compared with each. */
  const lines = (count: number) =>
    Array.from({ length: count }, (_, index) => `水泵维护手册 ${index % 37} abc def ghi`).join('\n');

  test('of long texts let other work run, and do not grow without end', async () => {
    const passages = Array.from({ length: 8 }, (_, index) =>
      passage(lines(180), { document_id: `${index}` }),
    );
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const citing = citationsOf({ answer: lines(400), question: '?', passages, used: [] });
    const citations = await citing.finally(() => {
      isOver = true;
    });
    expect(citations.length).toBeGreaterThan(0);
    expect(turns).toBeGreaterThan(3);
  });
});
