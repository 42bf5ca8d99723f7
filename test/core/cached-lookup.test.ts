// A cached value is never older than the last time its key was dropped.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createCachedLookup } from '../../src/core/cached-lookup.ts';

/** A source whose loads are answered when the test says so. */
function createSource() {
  const loads: {
    key: string;
    answer: (value: string | undefined) => Promise<void>;
    fail: () => Promise<void>;
  }[] = [];
  const load = (key: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
    const settled = () => promise.catch(() => {}).then(() => Bun.sleep(0));
    loads.push({
      key,
      answer(value) {
        resolve(value);
        return settled();
      },
      fail() {
        reject(new Error('out of reach'));
        return settled();
      },
    });
    return promise;
  };
  return { load, loads };
}

function createSubject(options: { ttlMs?: number; missTtlMs?: number; entriesMax?: number } = {}) {
  const source = createSource();
  // A clock that stands at 0 says nothing to the cache.
  const state = { now: 1, usable: true };
  const lookup = createCachedLookup<string>({
    load: source.load,
    ttlMs: 1000,
    entriesMax: 100,
    usable: () => state.usable,
    now: () => state.now,
    ...options,
  });
  return { ...source, state, lookup };
}

test('a value is loaded once and then at hand', async () => {
  const { lookup, loads } = createSubject();
  expect(lookup.getNow('a')).toBeUndefined();
  const first = lookup.get('a');
  await loads[0]?.answer('one');
  expect(await first).toBe('one');
  expect(lookup.getNow('a')).toBe('one');
  expect(lookup.get('a')).toBe('one');
  expect(loads).toHaveLength(1);
});

test('concurrent gets share one load', async () => {
  const { lookup, loads } = createSubject();
  const gets = [lookup.get('a'), lookup.get('a'), lookup.get('a')];
  await loads[0]?.answer('one');
  expect(await Promise.all(gets)).toEqual(['one', 'one', 'one']);
  expect(loads).toHaveLength(1);
});

test('a value expires, counted from the begin of its load', async () => {
  const { lookup, loads, state } = createSubject();
  void lookup.get('a');
  state.now = 400;
  await loads[0]?.answer('one');
  state.now = 1001;
  expect(lookup.getNow('a')).toBe('one');
  state.now = 1002;
  expect(lookup.getNow('a')).toBeUndefined();
});

test('that there is nothing is remembered for a shorter time', async () => {
  const { lookup, loads, state } = createSubject({ missTtlMs: 100 });
  void lookup.get('a');
  await loads[0]?.answer(undefined);
  expect(lookup.get('a')).toBeUndefined();
  expect(loads).toHaveLength(1);
  state.now = 102;
  void lookup.get('a');
  expect(loads).toHaveLength(2);
});

test('the entry that was not used for longest makes room', async () => {
  const { lookup, loads } = createSubject({ entriesMax: 2 });
  for (const key of ['a', 'b']) {
    void lookup.get(key);
    await loads.at(-1)?.answer(key);
  }
  expect(lookup.getNow('a')).toBe('a');
  void lookup.get('c');
  await loads.at(-1)?.answer('c');
  expect([lookup.getNow('a'), lookup.getNow('b'), lookup.getNow('c')]).toEqual(['a', undefined, 'c']);
});

test('a load that was under way at a drop is neither kept nor given to those who ask afterwards', async () => {
  const { lookup, loads } = createSubject();
  const before = lookup.get('a');
  lookup.drop('a');
  const after = lookup.get('a');
  await loads[1]?.answer('new');
  await loads[0]?.answer('old');
  expect([await before, await after]).toEqual(['old', 'new']);
  expect(lookup.getNow('a')).toBe('new');
});

test('a reset does the same to every key', async () => {
  const { lookup, loads } = createSubject();
  void lookup.get('a');
  await loads[0]?.answer('old');
  void lookup.get('b');
  lookup.reset();
  await loads[1]?.answer('old');
  expect([lookup.getNow('a'), lookup.getNow('b')]).toEqual([undefined, undefined]);
});

test('while unusable, each get loads for itself and nothing is kept', async () => {
  const { lookup, loads, state } = createSubject();
  void lookup.get('a');
  await loads[0]?.answer('old');
  state.usable = false;
  expect(lookup.getNow('a')).toBeUndefined();
  const gets = [lookup.get('a'), lookup.get('a')];
  expect(loads).toHaveLength(3);
  state.usable = true;
  await loads[1]?.answer('one');
  await loads[2]?.answer('two');
  expect(await Promise.all(gets)).toEqual(['one', 'two']);
  expect(lookup.getNow('a')).toBeUndefined();
});

test('a failed load is told to all who waited and tried again by the next', async () => {
  const { lookup, loads } = createSubject();
  const gets = [lookup.get('a'), lookup.get('a')].map((get) => Promise.resolve(get).catch(String));
  await loads[0]?.fail();
  expect(await Promise.all(gets)).toEqual(['Error: out of reach', 'Error: out of reach']);
  void lookup.get('a');
  expect(loads).toHaveLength(2);
});

test('a lifetime of more than 30 s is refused', () => {
  expect(() => createSubject({ ttlMs: 30_001 })).toThrow('at most');
});

const action = fc.oneof(
  fc.record({ kind: fc.constant('get' as const), key: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ kind: fc.constant('change' as const), key: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ kind: fc.constant('answer' as const), index: fc.nat(5) }),
  fc.record({ kind: fc.constant('usable' as const), value: fc.boolean() }),
  fc.record({ kind: fc.constant('time' as const), ms: fc.nat(800) }),
);

test('whatever happens in whatever order, a get never sees a version from before the last drop', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60, size: 'max' }), async (actions) => {
      const versions = new Map<string, number>();
      const loads: (() => void)[] = [];
      const checks: Promise<void>[] = [];
      const state = { now: 0, usable: true };
      const lookup = createCachedLookup<number>({
        // Read when asked, as a statement's snapshot is; told later.
        load(key) {
          const value = versions.get(key) ?? 0;
          const { promise, resolve } = Promise.withResolvers<number>();
          loads.push(() => resolve(value));
          return promise;
        },
        ttlMs: 1000,
        entriesMax: 2,
        usable: () => state.usable,
        now: () => state.now,
      });
      for (const each of actions) {
        if (each.kind === 'get') {
          const least = versions.get(each.key) ?? 0;
          const now = lookup.getNow(each.key);
          if (now !== undefined) expect(now).toBeGreaterThanOrEqual(least);
          checks.push(
            Promise.resolve(lookup.get(each.key)).then((value) =>
              expect(value).toBeGreaterThanOrEqual(least),
            ),
          );
        } else if (each.kind === 'change') {
          versions.set(each.key, (versions.get(each.key) ?? 0) + 1);
          // News arrive only while the lookup is usable; becoming usable again is a reset.
          if (state.usable) lookup.drop(each.key);
        } else if (each.kind === 'answer') {
          loads.splice(each.index, 1)[0]?.();
          await new Promise(setImmediate);
        } else if (each.kind === 'usable') {
          if (each.value !== state.usable) lookup.reset();
          state.usable = each.value;
        } else {
          state.now += each.ms;
        }
      }
      for (const answer of loads) answer();
      await Promise.all(checks);
    }),
    { numRuns: 1000 },
  );
});
