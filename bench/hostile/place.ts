// Where a hostile value stands in a body: alone, or in the place of one member of a body that is otherwise good.

import type { BodyFamily } from './families.ts';

const PLACE = 'HERE-STANDS-THE-VALUE';

/** Names of the members of an example that can be replaced; none of a body that is no object. */
export const membersOf = (example: unknown): string[] =>
  typeof example === 'object' && example !== null && !Array.isArray(example) ? Object.keys(example) : [];

/**
 * The example as JSON with a value of `bytes` bytes in it: a text takes the place of the longest text in the member, any
 * other value that of the member itself. Without a member the value is the body.
 */
export function place(family: BodyFamily, bytes: number, example?: unknown, member?: string): Buffer {
  if (member === undefined) return Buffer.from(family.make(bytes));
  const copy = structuredClone(example) as Record<string, unknown>;
  copy[member] = family.kind === 'string' ? withLongestText(copy[member]) : PLACE;
  const [before = '', after = ''] = JSON.stringify(copy).split(`"${PLACE}"`);
  const size = bytes - Buffer.byteLength(before) - Buffer.byteLength(after);
  return Buffer.from(`${before}${family.make(size)}${after}`);
}

function withLongestText(value: unknown): unknown {
  const longest = textsOf(value).reduce((best, text) => (text.length > best.length ? text : best), '');
  if (longest === '') return PLACE;
  let replaced = false;
  return JSON.parse(JSON.stringify(value), (_name, part: unknown) => {
    if (part !== longest || replaced) return part;
    replaced = true;
    return PLACE;
  });
}

const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
};
