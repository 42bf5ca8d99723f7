// A ring of what comes and goes: its order, and that it keeps nothing that has left.

import { edenGC, heapStats } from 'bun:jsc';
import { expect, test } from 'bun:test';
import { Ring } from '../../src/core/ring.ts';

const itemsOf = <T>(ring: Ring<T>): T[] => [...ring.items()];

test('items stand in the order in which they came, and leave once', () => {
  const ring = new Ring<string>();
  const [first, second, third] = ['one', 'two', 'three'].map((item) => ring.add(item)) as [
    never,
    never,
    never,
  ];
  expect(itemsOf(ring)).toEqual(['one', 'two', 'three']);
  expect(ring.remove(second)).toBeTrue();
  expect(ring.remove(second)).toBeFalse();
  expect([itemsOf(ring), ring.size, ring.first()?.item]).toEqual([['one', 'three'], 2, 'one']);
  ring.remove(first);
  ring.remove(third);
  expect([itemsOf(ring), ring.size, ring.first()]).toEqual([[], 0, undefined]);
  ring.add('four');
  expect(itemsOf(ring)).toEqual(['four']);
});

test('an item that leaves before its turn is left out, and one that comes meanwhile, too', () => {
  const ring = new Ring<string>();
  const seen: string[] = [];
  const links = ['one', 'two', 'three'].map((item) => ring.add(item));
  for (const item of ring.items()) {
    seen.push(item);
    for (const link of links.slice(0, 2)) ring.remove(link);
    if (item === 'one') ring.add('four');
  }
  expect(seen).toEqual(['one', 'three']);
  expect(itemsOf(ring)).toEqual(['three', 'four']);
});

test('a collection of young objects frees what has left', () => {
  const ring = new Ring<Headers>();
  const COMINGS = 20_000;
  const headersNow = (): number => heapStats().objectTypeCounts['Headers'] ?? 0;
  const before = headersNow();
  const links: ReturnType<typeof ring.add>[] = [];
  for (let coming = 0; coming < COMINGS; coming++) {
    links.push(ring.add(new Headers()));
    // Sixteen are always there.
    const leaving = links.length > 16 ? links.shift() : undefined;
    if (leaving !== undefined) ring.remove(leaving);
    // The first collections make old what is there.
    if (coming % 1000 === 0) edenGC();
  }
  for (const link of links) ring.remove(link);
  edenGC();
  // Of a Set a third is left.
  expect(headersNow() - before).toBeLessThan(COMINGS / 10);
});
