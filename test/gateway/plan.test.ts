// Which targets are asked, in which order.

import { describe, expect, test } from 'bun:test';
import { planAttempts } from '../../src/gateway/attempts.ts';
import { toSource } from '../../src/gateway/catalogue/current.ts';
import type { ModelSpec, UpstreamSpec } from '../../src/gateway/catalogue/model.ts';
import { type Target, Targets } from '../../src/gateway/targets.ts';

const source = toSource({
  modelsFile: undefined,
  openai: { baseUrl: 'http://upstream', apiKey: undefined },
  variable: () => undefined,
});

const upstream = (name: string, changes: Partial<UpstreamSpec> = {}): UpstreamSpec => {
  if (source.kind !== 'upstream') throw new Error('no upstream');
  return { ...source.upstream, name, baseUrl: `http://${name}`, ...changes };
};

type Setting = {
  id?: string;
  strategy?: ModelSpec['strategy'];
  targets: [upstream: UpstreamSpec | undefined, model: string, weight?: number][];
  fallbacks?: string[];
};

const spec = ({ id = 'm', strategy = 'weighted', targets, fallbacks = [] }: Setting): ModelSpec => ({
  id,
  strategy,
  fallbacks,
  endpoints: ['chat'],
  price: undefined,
  cacheTtlSeconds: 0,
  created: 0,
  ownedBy: 'test',
  description: undefined,
  targets: targets.map(([each, model, weight = 1]) => ({ upstream: each, model, weight })),
});

/** A catalogue of these models, and the plan of the first one. */
function setting(models: Setting[]) {
  let nowMs = 0;
  const targets = new Targets(() => nowMs);
  const [model] = targets.build(models.map(spec));
  if (model === undefined) throw new Error('no model');
  const target = (name: string): Target => {
    const found = [...targets.all()].find((each) => each.name === name);
    if (found === undefined) throw new Error(`no target ${name}`);
    return found;
  };
  return {
    target,
    advance: (ms: number) => {
      nowMs += ms;
    },
    plan: (random: () => number = Math.random) =>
      planAttempts(model, nowMs, random).map((attempt) => attempt.target.name),
  };
}

const failTimes = (target: Target, times: number): void => {
  for (let index = 0; index < times; index++) {
    target.circuit.begin();
    target.circuit.fail();
  }
};

describe('a model with one target', () => {
  test('is asked as often as its retries say, and once', () => {
    expect(setting([{ targets: [[upstream('a'), 'x']] }]).plan()).toEqual(['a/x', 'a/x', 'a/x']);
    expect(setting([{ targets: [[upstream('a', { retries: 0 }), 'x']] }]).plan()).toEqual(['a/x']);
    expect(setting([{ targets: [[undefined, 'local-echo']] }]).plan()).toEqual(['local/local-echo']);
  });

  test('is asked once where its circuit is open: better a last try than none', () => {
    const { plan, target } = setting([{ targets: [[upstream('a'), 'x']] }]);
    failTimes(target('a/x'), 5);
    expect(plan()).toEqual(['a/x']);
  });
});

describe('a model with several targets', () => {
  test('asks each once before any again, and none more often than its retries say', () => {
    const { plan } = setting([
      {
        targets: [
          [upstream('a', { retries: 0 }), 'x'],
          [upstream('b', { retries: 2 }), 'y'],
        ],
      },
    ]);
    expect(plan(() => 0)).toEqual(['a/x', 'b/y', 'b/y']);
    expect(plan(() => 0.99)).toEqual(['b/y', 'a/x', 'b/y']);
  });

  test('asks all of them, though there are more than retries', () => {
    const targets = ['a', 'b', 'c', 'd'].map((name): [UpstreamSpec, string] => [
      upstream(name, { retries: 1 }),
      'x',
    ]);
    expect(setting([{ targets }]).plan().toSorted()).toEqual(['a/x', 'b/x', 'c/x', 'd/x']);
  });

  test('begins with each in proportion to its weight, and never with one of weight 0', () => {
    const { plan } = setting([
      {
        targets: [
          [upstream('a'), 'x', 7],
          [upstream('b'), 'x', 2],
          [upstream('c'), 'x', 1],
          [upstream('d'), 'x', 0],
        ],
      },
    ]);
    const counts = new Map<string, number>();
    const rounds = 20_000;
    for (let round = 0; round < rounds; round++) {
      const order = plan();
      counts.set(order[0] ?? '', (counts.get(order[0] ?? '') ?? 0) + 1);
      expect(order.at(-1)).toBe('d/x');
    }
    // Five standard deviations of a binomial distribution.
    for (const [name, share] of [['a/x', 0.7] as const, ['b/x', 0.2] as const, ['c/x', 0.1] as const]) {
      const deviation = Math.sqrt(rounds * share * (1 - share));
      expect(Math.abs((counts.get(name) ?? 0) - rounds * share)).toBeLessThan(5 * deviation);
    }
  });

  test('leaves one that fails or rests to the end, once, until it is well again', () => {
    const { plan, target, advance } = setting([
      {
        targets: [
          [upstream('a'), 'x', 1],
          [upstream('b'), 'x', 0],
        ],
      },
    ]);
    failTimes(target('a/x'), 5);
    expect(plan()).toEqual(['b/x', 'b/x', 'b/x', 'a/x']);
    target('a/x').circuit.succeed();
    target('a/x').cooldownUntilMs = 1000;
    expect(plan()).toEqual(['b/x', 'b/x', 'b/x', 'a/x']);
    advance(1000);
    expect(plan()[0]).toBe('a/x');
  });
});

describe('fallbacks', () => {
  const models: Setting[] = [
    { id: 'm', targets: [[upstream('a', { retries: 1 }), 'x']], fallbacks: ['n', 'gone', 'o'] },
    { id: 'n', targets: [[upstream('b', { retries: 0 }), 'x']], fallbacks: ['o'] },
    { id: 'o', targets: [[undefined, 'local-echo']] },
  ];
  test('come after the retries, in their order, and not theirs in turn', () => {
    expect(setting(models).plan()).toEqual(['a/x', 'a/x', 'b/x', 'local/local-echo']);
  });

  test('come before targets that are unfit', () => {
    const { plan, target } = setting(models);
    failTimes(target('a/x'), 5);
    expect(plan()).toEqual(['b/x', 'local/local-echo', 'a/x']);
  });
});

describe('by latency', () => {
  const two = (): ReturnType<typeof setting> =>
    setting([
      {
        strategy: 'latency',
        targets: [
          [upstream('slow'), 'x'],
          [upstream('quick'), 'x'],
        ],
      },
    ]);
  const share = (plan: () => string[], name: string): number =>
    Array.from({ length: 400 }, plan).filter(([first]) => first === name).length / 400;

  test('the quicker of two comes first', () => {
    const { plan, target } = two();
    target('slow/x').noteLatency(500, 0);
    target('quick/x').noteLatency(20, 0);
    expect(share(plan, 'quick/x')).toBe(1);
  });

  test('one that is quick but busy gives way', () => {
    const { plan, target } = two();
    target('slow/x').noteLatency(500, 0);
    target('quick/x').noteLatency(20, 0);
    target('quick/x').running = 30;
    expect(share(plan, 'slow/x')).toBe(1);
  });

  test('one that was slow once is tried again when that is long ago', () => {
    const { plan, target, advance } = two();
    target('slow/x').noteLatency(5000, 0);
    for (let at = 0; at < 60; at++) {
      advance(1000);
      target('quick/x').noteLatency(100, at * 1000);
    }
    expect(plan()[0]).toBe('slow/x');
  });

  test('of many, none is asked always', () => {
    const targets = Array.from({ length: 8 }, (_, index): [UpstreamSpec, string] => [
      upstream(`u${index}`),
      'x',
    ]);
    const { plan, target } = setting([{ strategy: 'latency', targets }]);
    for (let index = 0; index < 8; index++) target(`u${index}/x`).noteLatency(100 + index, 0);
    const firsts = new Set(Array.from({ length: 500 }, () => plan()[0]));
    expect(firsts.size).toBeGreaterThanOrEqual(6);
    expect(share(plan, 'u0/x')).toBeLessThan(0.5);
  });
});

describe('targets', () => {
  test('are told apart though their names read the same', () => {
    const { plan, target } = setting([
      { targets: [[upstream('a/b', { retries: 0 }), 'c']], fallbacks: ['n', 'o', 'p'] },
      { id: 'n', targets: [[upstream('a', { retries: 0 }), 'b/c']] },
      { id: 'o', targets: [[upstream('local', { retries: 0 }), 'local-echo']] },
      { id: 'p', targets: [[undefined, 'local-echo']] },
    ]);
    expect(plan()).toEqual(['a/b/c', 'a/b/c', 'local/local-echo', 'local/local-echo']);
    expect(target('a/b/c').upstream?.spec.name).toBe('a/b');
  });

  test('of the same name ask whom they name', () => {
    const models = new Targets().build([
      spec({ id: 'm', targets: [[upstream('a/b'), 'c']] }),
      spec({ id: 'n', targets: [[upstream('a'), 'b/c']] }),
      spec({ id: 'o', targets: [[upstream('local'), 'local-echo']] }),
      spec({ id: 'p', targets: [[undefined, 'local-echo']] }),
    ]);
    const names = models.map((model) => model.targets[0]?.target.upstream?.spec.name);
    expect(names).toEqual(['a/b', 'a', 'local', undefined]);
  });

  test('keep what is known of them over a reload, unless their address is another', () => {
    const targets = new Targets();
    const build = (each: UpstreamSpec) =>
      targets.build([spec({ targets: [[each, 'x']] })])[0]?.targets[0]?.target;
    const first = build(upstream('a'));
    const again = build(upstream('a', { retries: 7, concurrency: { max: 1, queue: 0 } }));
    expect(again).toBe(first as Target);
    expect(again?.upstream?.spec.retries).toBe(7);
    expect(build(upstream('a', { baseUrl: 'http://elsewhere' }))).not.toBe(first as Target);
  });
});
