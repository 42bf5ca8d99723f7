// The ceiling of memory: its levels, their ends, and what reading it costs.

import { expect, test } from 'bun:test';
import { createMemoryGuard } from '../../../src/http/admission/memory-guard.ts';

function guardOf(collected: (bytes: number) => number = (bytes) => bytes) {
  const at = { nowMs: 0, bytes: 0, reads: 0, collections: 0 };
  const guard = createMemoryGuard(1000, {
    nowMs: () => at.nowMs,
    residentBytes() {
      at.reads++;
      return at.bytes;
    },
    collect() {
      at.collections++;
      at.bytes = collected(at.bytes);
    },
  });
  const levelAt = (bytes: number) => {
    at.nowMs += 100;
    at.bytes = bytes;
    return guard.level();
  };
  return { at, guard, levelAt };
}

test('a level begins at its share of the ceiling, and ends well below', () => {
  const { levelAt } = guardOf();
  expect([849, 850, 751, 749].map(levelAt)).toEqual(['fine', 'tight', 'tight', 'fine']);
  expect([1000, 901, 899, 999, 760, 740].map(levelAt)).toEqual([
    'full',
    'full',
    'tight',
    'tight',
    'tight',
    'fine',
  ]);
  expect(levelAt(5000)).toBe('full');
  expect(levelAt(100)).toBe('fine');
});

test('garbage alone refuses nobody: it is collected first, every two seconds at most', () => {
  const { at, levelAt } = guardOf((bytes) => bytes / 2);
  expect(levelAt(1200)).toBe('fine');
  expect(levelAt(1200)).toBe('full');
  expect(at.collections).toBe(1);
  at.nowMs += 2000;
  expect(levelAt(1200)).toBe('fine');
});

test('memory is read ten times a second at most, and only when somebody asks', () => {
  const { at, guard } = guardOf();
  for (let each = 0; each < 1000; each++) guard.level();
  expect(at.reads).toBe(1);
  at.nowMs += 100;
  guard.level();
  expect(at.reads).toBe(2);
});
