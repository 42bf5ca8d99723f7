// What is thrown at a service: each family makes as many bytes as it is asked for.

import { gzipSync } from 'node:zlib';

/** A JSON text, or what pretends to be one. */
export type BodyFamily = {
  name: string;
  /** `string`: it stands where the operation expects a text; `value`: anywhere. */
  kind: 'string' | 'value';
  make(bytes: number): string;
};

const fill = (unit: string, bytes: number): string =>
  unit.repeat(Math.max(1, Math.floor(bytes / unit.length)));
const quoted = (unit: string, bytes: number): string => `"${fill(unit, bytes - 2)}"`;
const listOf = (unit: string, bytes: number): string => `[${fill(`${unit},`, bytes - 2).slice(0, -1)}]`;

function keys(bytes: number): string {
  const members: string[] = [];
  for (let size = 2; size < bytes; size += members.at(-1)?.length ?? 0)
    members.push(`"k${members.length}":1,`);
  return `{${members.join('').slice(0, -1)}}`;
}

export const BODIES: readonly BodyFamily[] = [
  { name: 'a long number', kind: 'value', make: (bytes) => fill('7', bytes) },
  { name: 'a long fraction', kind: 'value', make: (bytes) => `0.${fill('7', bytes - 2)}` },
  { name: 'a long exponent', kind: 'value', make: (bytes) => `1e${fill('0', bytes - 3)}1` },
  { name: 'many long numbers', kind: 'value', make: (bytes) => listOf('12345678901234567890', bytes) },
  { name: 'deep', kind: 'value', make: (bytes) => `${fill('[', bytes / 2)}${fill(']', bytes / 2)}` },
  {
    name: 'deep objects',
    kind: 'value',
    make: (bytes) => `${fill('{"a":', (bytes * 5) / 6)}1${fill('}', bytes / 6)}`,
  },
  { name: 'deep, unclosed', kind: 'value', make: (bytes) => fill('[', bytes) },
  { name: 'unclosed text', kind: 'value', make: (bytes) => `"${fill('a', bytes - 1)}` },
  { name: 'unclosed escapes', kind: 'value', make: (bytes) => `"${fill('\\"', bytes - 1)}` },
  { name: 'blanks', kind: 'value', make: (bytes) => fill(' ', bytes) },
  { name: 'many numbers', kind: 'value', make: (bytes) => listOf('1', bytes) },
  { name: 'many empty texts', kind: 'value', make: (bytes) => listOf('""', bytes) },
  { name: 'many empty objects', kind: 'value', make: (bytes) => listOf('{}', bytes) },
  { name: 'many keys', kind: 'value', make: keys },
  {
    name: 'one key, repeated',
    kind: 'value',
    make: (bytes) => `{${fill('"k":1,', bytes - 2).slice(0, -1)}}`,
  },
  { name: 'a long key', kind: 'value', make: (bytes) => `{${quoted('k', bytes - 4)}:1}` },
  { name: 'a long key of escapes', kind: 'value', make: (bytes) => `{${quoted('\\"', bytes - 4)}:1}` },
  { name: 'a long text', kind: 'string', make: (bytes) => quoted('a', bytes) },
  { name: 'a text of words', kind: 'string', make: (bytes) => quoted('ab ', bytes) },
  { name: 'escapes', kind: 'string', make: (bytes) => quoted('\\u00e9', bytes) },
  { name: 'quotation marks', kind: 'string', make: (bytes) => quoted('\\"', bytes) },
  { name: 'NULs', kind: 'string', make: (bytes) => quoted('\\u0000', bytes) },
  { name: 'half surrogates', kind: 'string', make: (bytes) => quoted('\\ud800', bytes) },
  { name: 'expanding characters', kind: 'string', make: (bytes) => quoted('ﷺ', bytes / 3) },
  { name: 'combining marks', kind: 'string', make: (bytes) => quoted('\u0301\u0316', bytes / 4) },
];

/** A body that needs no more looking at: what any of that size costs. */
export const HARMLESS: BodyFamily = { name: 'harmless', kind: 'value', make: (bytes) => quoted('a', bytes) };

export type CodedFamily = { name: string; encoding: string; make(bytesMax: number): Buffer };

/** Bodies that say they are compressed; `bytesMax` is what they may be when they are not. */
/** A JSON list of texts that compress to about a fiftieth. */
const fiftyfold = (bytes: number): string => {
  const texts = Array.from({ length: bytes / 4096 }, () => `"${crypto.randomUUID()}${'a'.repeat(4050)}"`);
  return `[${texts.join(',')}]`.slice(0, bytes);
};

export const CODED: readonly CodedFamily[] = [
  { name: 'gzip: up to the ceiling', encoding: 'gzip', make: (max) => gzipSync(Buffer.alloc(max - 1, 'a')) },
  { name: 'gzip: 16 × the ceiling', encoding: 'gzip', make: (max) => gzipSync(Buffer.alloc(max * 16, ' ')) },
  { name: 'gzip: 50 × its size', encoding: 'gzip', make: (max) => gzipSync(fiftyfold(max)) },
  { name: 'gzip: deep', encoding: 'gzip', make: (max) => gzipSync('['.repeat(max - 1)) },
  { name: 'gzip: twice', encoding: 'gzip, gzip', make: (max) => gzipSync(gzipSync(Buffer.alloc(max, 'a'))) },
  {
    name: 'gzip: cut off',
    encoding: 'gzip',
    make: (max) => gzipSync(Buffer.alloc(max, 'a')).subarray(0, -20),
  },
  { name: 'gzip: none', encoding: 'gzip', make: (max) => Buffer.alloc(Math.min(max, 262_144), 'a') },
];

export type QueryFamily = { name: string; make(names: readonly string[], bytes: number): string };

/** Queries, without the question mark. `names`: the parameters that the operation knows. */
export const QUERIES: readonly QueryFamily[] = [
  { name: 'many unknown parameters', make: (_, bytes) => fill('x=1&', bytes) },
  {
    name: 'many names',
    make: (_, bytes) =>
      Array.from({ length: bytes / 8 }, (_x, i) => `x${i}=1`)
        .join('&')
        .slice(0, bytes),
  },
  { name: 'ampersands', make: (_, bytes) => fill('&', bytes) },
  { name: 'every parameter, many times', make: (names, bytes) => repeated(names, 'a', bytes) },
  {
    name: 'every parameter, as lists',
    make: (names, bytes) => repeated(names, `in:${fill('a,', 2000)}b`, bytes),
  },
  {
    name: 'every parameter, expanding characters',
    make: (names, bytes) => repeated(names, encodeURIComponent('ﷺ'.repeat(20)), bytes),
  },
  { name: 'broken escapes', make: (names, bytes) => repeated(names, '%ff%zz', bytes) },
  { name: 'a long value', make: (names, bytes) => `${names[0] ?? 'x'}=${fill('7', bytes)}` },
  { name: 'blanks and plus signs', make: (names, bytes) => `${names[0] ?? 'x'}=${fill('+%20', bytes)}` },
];

function repeated(names: readonly string[], value: string, bytes: number): string {
  const round = (names.length === 0 ? ['x'] : names).map((name) => `${name}=${value}`).join('&');
  return fill(`${round}&`, bytes).slice(0, bytes);
}

export type HeaderFamily = { name: string; make(bytes: number): string[] };

export const HEADERS: readonly HeaderFamily[] = [
  { name: 'many headers', make: (bytes) => Array.from({ length: bytes / 12 }, (_, index) => `h${index}: 1`) },
  {
    name: 'as many headers as are taken',
    make: (bytes) => Array.from({ length: 150 }, (_, index) => `h${index}: ${fill('a', bytes / 150 - 10)}`),
  },
  { name: 'one header, many times', make: (bytes) => Array.from({ length: bytes / 7 }, () => 'a: b') },
  { name: 'a long header', make: (bytes) => [`x-long: ${fill('a', bytes)}`] },
  {
    name: 'a long credential',
    make: (bytes) => [
      `apikeyheader: ${fill('a', bytes / 3)}`,
      `svc-key: ${fill('a', bytes / 3)}`,
      `authorization: Bearer ${fill('e', bytes / 3)}`,
    ],
  },
  { name: 'a long cookie', make: (bytes) => [`cookie: ${fill('a=b; ', bytes)}`] },
  { name: 'a long request id', make: (bytes) => [`x-request-id: ${fill('a', bytes)}`] },
];
