// Single hostile requests to the embedded object store, by callers who have no signature.

import { HEADERS, QUERIES } from './families.ts';
import { type Attempt, sending } from './requests.ts';

const HEAD_BYTES = 12_000;
const FORM_BYTES = 1_000_000;
const BOUNDARY = 'b';

const part = (name: string, value: string, rest = ''): string =>
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${rest}\r\n\r\n${value}\r\n`;
const times = (text: string): string => text.repeat(Math.ceil(FORM_BYTES / text.length));

/** The body of a form, about a megabyte of it. */
const FORMS: readonly { name: string; make(): string; boundary?: string }[] = [
  {
    name: 'many fields',
    make: () => Array.from({ length: 15_000 }, (_, index) => part(`f${index}`, 'a')).join(''),
  },
  { name: 'one field, many times', make: () => times(part('key', 'a')) },
  { name: 'a long field', make: () => part('key', 'a'.repeat(FORM_BYTES)) },
  { name: 'a long name', make: () => part('k'.repeat(FORM_BYTES), 'a') },
  {
    name: 'parts without a name',
    make: () => times(`--${BOUNDARY}\r\ncontent-disposition: form-data\r\n\r\n\r\n`),
  },
  { name: 'headers of a part', make: () => `--${BOUNDARY}\r\n${times('a: b\r\n')}` },
  { name: 'a preamble', make: () => times('a: b\r\n') },
  { name: 'almost boundaries', make: () => part('key', times(`\r\n--`)) },
  {
    name: 'a deep policy',
    make: () => policyForm(`{"expiration":"2100-01-01T00:00:00Z","conditions":${'['.repeat(13_000)}`),
  },
  {
    name: 'a policy of many conditions',
    make: () => policyForm(`{"expiration":"2100-01-01T00:00:00Z","conditions":[${'{},'.repeat(4300)}{}]}`),
  },
  { name: 'a long boundary', make: () => times('--aaaa'), boundary: 'a'.repeat(8000) },
  { name: 'a file without a policy', make: () => part('file', 'a'.repeat(FORM_BYTES), '; filename="f"') },
];

const policyForm = (policy: string): string =>
  part('key', 'k') +
  part('policy', Buffer.from(policy).toString('base64')) +
  part('StorageAccessKeyId', 'x') +
  part('signature', 'x') +
  part('file', 'content', '; filename="f"');

const SIGNED_OPERATIONS = [
  { method: 'GET', path: '/key' },
  { method: 'PUT', path: '/key' },
  { method: 'GET', path: '' },
  { method: 'POST', path: '?delete' },
] as const;

export function* storeAttempts(url: URL, bucket: string): Generator<Attempt> {
  for (const { name, make, boundary = BOUNDARY } of FORMS) {
    const cell = {
      target: 'object store: a form',
      group: 'forms',
      family: name,
      bytes: FORM_BYTES,
      largest: false,
    };
    yield sending(url, cell, () => ({
      method: 'POST',
      target: `/${bucket}`,
      headers: [`content-type: multipart/form-data; boundary=${boundary}`],
      body: Buffer.from(`${make()}--${boundary}--\r\n`),
    }));
  }
  for (const operation of SIGNED_OPERATIONS) yield* unsignedAt(url, bucket, operation);
}

function* unsignedAt(
  url: URL,
  bucket: string,
  { method, path }: (typeof SIGNED_OPERATIONS)[number],
): Generator<Attempt> {
  const target = `/${bucket}${path}`;
  const base = { target: `object store: ${method} /{bucket}${path}`, bytes: HEAD_BYTES, largest: false };
  if (method !== 'GET')
    yield sending(url, { ...base, group: 'bodies', family: 'a body without a signature', bytes: 0 }, () => ({
      method,
      target,
      headers: [],
      body: Buffer.alloc(FORM_BYTES, 'a'),
    }));
  for (const { name, make } of QUERIES)
    yield sending(url, { ...base, group: 'queries', family: name }, () => ({
      method,
      target: `${target}${target.includes('?') ? '&' : '?'}${make(['prefix', 'X-Amz-Signature'], HEAD_BYTES)}`,
      headers: [],
    }));
  for (const { name, make } of HEADERS)
    yield sending(url, { ...base, group: 'headers', family: name }, () => ({
      method,
      target,
      headers: make(HEAD_BYTES),
    }));
}
