// Errors of upstreams pass to callers without the upstream's key, the values of its headers, and its host. Texts are
// looked at as JSON decodes them; within a text, each character may also be written as percent-encoding and JSON write
// it (an upstream that quotes a URL, or another's JSON). Other encodings of a secret, such as base64, are not recognised.

import { isRawNumber } from '../core/json.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import { ERROR_NESTING_MAX } from './limits.ts';

type Secrets = Pick<UpstreamSpec, 'apiKey' | 'baseUrl' | 'headers'>;

const REDACTED = '[redacted]';
/** Shorter ones stand in too many words. */
const SECRET_LENGTH_MIN = 4;

const NEVER = /(?!)/g;

/** By the specification, so that a reload begins anew. */
const patterns = new WeakMap<Secrets, RegExp>();

/** The same JSON value with texts and names without secrets; values nested more deeply than errors are omitted. */
export function redactValue(value: unknown, secrets: Secrets): unknown {
  const known = patterns.get(secrets) ?? toPattern(secrets);
  patterns.set(secrets, known);
  const redact = (each: unknown, depth: number): unknown => {
    if (typeof each === 'string') return each.replace(known, REDACTED);
    if (typeof each !== 'object' || each === null || isRawNumber(each)) return each;
    if (depth === ERROR_NESTING_MAX) return REDACTED;
    if (Array.isArray(each)) return each.map((item) => redact(item, depth + 1));
    return Object.fromEntries(
      Object.entries(each).map(([name, item]) => [name.replace(known, REDACTED), redact(item, depth + 1)]),
    );
  };
  return redact(value, 0);
}

/** Longer ones first: a host with its port before the host. */
function toPattern({ apiKey, baseUrl, headers }: Secrets): RegExp {
  const { host, hostname } = new URL(baseUrl);
  const values = Object.values(headers);
  // `Bearer <key>` may be quoted without its scheme.
  const credentials = values.map((value) => /^\S+ +(\S.*)$/.exec(value)?.[1]);
  const secrets = [apiKey, ...values, ...credentials, host, hostname].filter(
    (each) => each !== undefined && each.length >= SECRET_LENGTH_MIN,
  );
  const longestFirst = [...new Set(secrets)].sort((a = '', b = '') => b.length - a.length);
  if (longestFirst.length === 0) return NEVER;
  return new RegExp(longestFirst.map((each = '') => [...each].map(toCharacter).join('')).join('|'), 'gi');
}

/** One character, in every way in which a text may have it. */
function toCharacter(character: string): string {
  const units = [...Array(character.length).keys()].map((at) => character.charCodeAt(at));
  const escaped = units.map((unit) => `\\\\u${unit.toString(16).padStart(4, '0')}`).join('');
  const encoded = [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
    .join('');
  const literal = units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  // The longest first: the escapes of `%`, `\` and `u` begin with these, and at the end of a secret the rest would be left.
  return `(?:${escaped}|${encoded}|\\\\?${literal})`;
}
