// JSON as text: random values whose every digit counts, and a form in which two texts can be compared.

import fc from 'fast-check';

/** Text that a database can hold: any characters but NUL. */
export const storableText = (
  lengths: { minLength?: number; maxLength?: number } = {},
): fc.Arbitrary<string> =>
  fc
    .oneof(
      fc.string({ unit: 'binary', ...lengths }),
      fc.string({ unit: 'grapheme', ...lengths }),
      fc.string({
        unit: fc.constantFrom(...'"\\\'/%?#&.\n\t\r\u0001\u001f\u007f\u0085\u2028\u0301\ufeff😀\u{10ffff}'),
        ...lengths,
      }),
    )
    .map((text) => [...text].map((character) => (character === '\u0000' ? '\u0001' : character)).join(''));

const digits = fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String);
const numberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
  fc.tuple(digits, digits).map(([whole, fraction]) => `${whole}.${fraction}`),
  fc.tuple(digits, fc.integer({ min: -200, max: 200 })).map(([whole, exponent]) => `-${whole}E${exponent}`),
  fc.constantFrom(
    '-0',
    '0.0',
    '1.0',
    '1e5',
    '1E+5',
    '9007199254740993',
    '0.1000000000000000055511151231257827',
    '1e-400',
    '1.23456789012345e-320',
  ),
);

const keyName = fc.oneof(
  storableText({ maxLength: 8 }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'toJSON',
    'rawJSON',
    '',
    'length',
    '0',
  ),
);

const toObjectText = (entries: [string, string][]): string =>
  `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;

const uniqueEntries = (value: fc.Arbitrary<string>, maxLength: number) =>
  fc.uniqueArray(fc.tuple(keyName, value), { selector: ([name]) => name, maxLength });

const { value: anyText } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom('null', 'true', 'false', '{}', '[]', '""'),
    numberText,
    storableText({ maxLength: 20 }).map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    uniqueEntries(tie('value'), 4).map(toObjectText),
  ),
}));

/** The text of any JSON value. */
export const jsonText: fc.Arbitrary<string> = anyText;

/** The text of any JSON object. */
export const jsonObjectText: fc.Arbitrary<string> = uniqueEntries(jsonText, 5).map(toObjectText);

/** JSON text in a form that equals another's exactly when both mean the same: sorted keys, numbers by their digits. */
export function canonicalJson(text: string): string {
  return render(
    JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' ? new ExactNumber(context?.source ?? String(value)) : value,
    ),
  );
}

class ExactNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

function render(value: unknown): string {
  if (value instanceof ExactNumber) return canonicalNumber(value.source);
  if (Array.isArray(value)) return `[${value.map(render).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${render(item)}`).join(',')}}`;
}

/** `-12.50e3` → `-125e2`: sign, digits without outer zeros, exponent. JSON's -0 is 0 to databases. */
function canonicalNumber(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const significant = (whole + fraction).replace(/^0+/, '');
  const trimmed = significant.replace(/0+$/, '');
  if (trimmed === '') return '0';
  return `${sign}${trimmed}e${Number(exponent) - fraction.length + significant.length - trimmed.length}`;
}
