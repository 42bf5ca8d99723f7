// The parts of the front end that need no browser.

import { describe, expect, test } from 'bun:test';
import { parseCsv, toCsv } from '../../src/console/web/csv.ts';
import { fillIn } from '../../src/console/web/fill-in.ts';
import { toInline } from '../../src/console/web/markdown.tsx';
import { LANGUAGES, MESSAGES } from '../../src/console/web/messages.ts';
import { cosine } from '../../src/console/web/similarity.ts';
import { renderSnippet } from '../../src/console/web/snippets.ts';

describe('CSV', () => {
  test('is read with quotes, line breaks in fields, and empty fields', () => {
    expect(parseCsv('a,b\r\n"x, ""y""\nz",\n\n,', ',')).toEqual([
      ['a', 'b'],
      ['x, "y"\nz', ''],
      ['', ''],
    ]);
    expect(parseCsv('a\tb,c', '\t')).toEqual([['a', 'b,c']]);
    expect(parseCsv('', ',')).toEqual([]);
    expect(parseCsv('"never closed', ',')).toEqual([['never closed']]);
  });

  test('that is written is read back, and no cell of it is a formula', () => {
    const text = toCsv([
      ['name', 'cost'],
      ['a "b", c\nd', 1.5],
      ['=cmd|calc', null],
      ['-1', -1],
    ]);
    expect(parseCsv(text, ',')).toEqual([
      ['name', 'cost'],
      ['a "b", c\nd', '1.5'],
      ["'=cmd|calc", ''],
      ["'-1", '-1'],
    ]);
  });
});

describe('Markdown', () => {
  test('in a preview has code, emphasis, and links to pages alone', () => {
    const kinds = (text: string) =>
      toInline(text).map((part) =>
        typeof part === 'object' && part !== null && 'type' in part ? part.type : part,
      );
    expect(kinds('see [it](https://example.com/a) and `x`')).toEqual(['see ', 'a', ' and ', 'code', '']);
    expect(kinds('[it](javascript:alert(1)) [b]')).toEqual(['[it](javascript:alert(1)) [b]']);
    expect(kinds('[![badge](https://example.com/b.svg)](x)')).toEqual(['[', 'a', '](x)']);
  });

  test.each(['[', '![', '[a](https://', '*a ', '**a', '`a', '__a'])(
    'that repeats %s takes time in proportion to its length',
    // A search of the whole rest from each of them takes minutes, in which the page does not answer.
    (opening) => {
      expect(toInline(opening.repeat(300_000 / opening.length)).length).toBeGreaterThan(0);
    },
  );
});

describe('a snippet', () => {
  const hostile = `it's "$(rm -rf ~)" \u2028 true, null`;
  const call = {
    path: '/chat/completions',
    method: 'chat.completions.create',
    body: { model: 'm', messages: [{ role: 'user', content: hostile }], stream: true, stop: null },
  } as const;

  test('for the shell sends exactly the body', async () => {
    const text = renderSnippet('curl', call, 'http://127.0.0.1:1').replace('curl ', 'show ');
    const shown = Bun.spawnSync(['sh', '-c', `show() { for each; do :; done; printf %s "$each"; }\n${text}`]);
    expect(JSON.parse(shown.stdout.toString())).toEqual(call.body);
  });

  test('for TypeScript is a program whose argument is the body', () => {
    const text = renderSnippet('TypeScript', call, 'http://127.0.0.1:1');
    const argument = text.slice(text.indexOf('create(') + 7, text.lastIndexOf(');\nfor await'));
    expect(new Function(`return ${argument}`)()).toEqual(call.body);
    expect(text).not.toContain('atr_');
  });

  test('for Python has its words for true, false and null, but not within texts', () => {
    const text = renderSnippet('Python', call, 'http://127.0.0.1:1');
    expect(text).toContain('"stream": True');
    expect(text).toContain('"stop": None');
    expect(text).toContain('true, null"');
  });

  test('of a call that does not stream prints the answer as a whole', () => {
    const whole = { ...call, body: { ...call.body, stream: false } };
    expect(renderSnippet('TypeScript', whole, 'http://127.0.0.1:1')).toEndWith('console.log(answer);');
    expect(renderSnippet('Python', whole, 'http://127.0.0.1:1')).toEndWith('print(answer)');
    expect(renderSnippet('Python', call, 'http://127.0.0.1:1')).toContain('for chunk in answer:');
  });
});

test('the similarity of vectors is their cosine', () => {
  expect(cosine([1, 0], [2, 0])).toBe(1);
  expect(cosine([1, 0], [0, 3])).toBe(0);
  expect(cosine([1, 1], [-1, -1])).toBeCloseTo(-1);
  expect(cosine([0, 0], [1, 0])).toBe(0);
});

test('every message has a text in each language, with the same values', () => {
  const valuesOf = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();
  const formsOf = (text: string): string[] => text.match(/\{\w+:[^}]*\}?/g) ?? [];
  for (const [name, texts] of Object.entries(MESSAGES)) {
    expect([name, texts.length, texts.every((text) => text.trim() !== '')]).toEqual([
      name,
      LANGUAGES.length,
      true,
    ]);
    for (const text of texts) {
      expect([name, valuesOf(text)]).toEqual([name, valuesOf(texts[0])]);
      for (const form of formsOf(text)) expect(form).toMatch(/^\{\w+:[^|{}]+\|[^|{}]+\}$/);
    }
  }
});

test('a message has the word that fits its number, in each language', () => {
  const [english, german] = MESSAGES['library.purge.title'];
  expect(fillIn(english, { count: '1' })).toBe('Delete 1 document for good?');
  expect(fillIn(english, { count: '1,000' })).toBe('Delete 1,000 documents for good?');
  expect(fillIn(english, { count: 0 })).toBe('Delete 0 documents for good?');
  expect(fillIn(german, { count: 1 })).toBe('1 Dokument endgültig löschen?');
  expect(fillIn('{name} {other}', { name: '{count:a|b}' })).toBe('{count:a|b} {other}');
  // Nouns that are counted without a form for one of them: of these messages the number is never one, or the noun has no other form.
  const plain = ['usage.days', 'playground.tokens'];
  const counted =
    /\{count\} (?:documents|pages|tokens|requests|passages|messages|models|days|Tage|Dokumente|Seiten|Tokens)\b/;
  const slips = Object.entries(MESSAGES).filter(([, texts]) => texts.some((text) => counted.test(text)));
  expect(slips.map(([name]) => name).filter((name) => !plain.includes(name))).toEqual([]);
});

test('no message is unused', () => {
  const sources = [
    ...new Bun.Glob('**/*.{ts,tsx}').scanSync({
      cwd: `${import.meta.dir}/../../src/console/web`,
      absolute: true,
    }),
  ]
    .filter((path) => !path.endsWith('/messages.ts'))
    .map((path) => require('node:fs').readFileSync(path, 'utf8') as string)
    .join('\n');
  // Names that are put together begin with one of these.
  const composed = [...sources.matchAll(/[`']([a-z-]+(?:\.[a-z-]+)*\.)\$\{/g)].map(
    ([, beginning = '']) => beginning,
  );
  const unused = Object.keys(MESSAGES).filter(
    (name) => !sources.includes(`'${name}'`) && !composed.some((beginning) => name.startsWith(beginning)),
  );
  expect(unused).toEqual([]);
});
