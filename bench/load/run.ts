// One run: what the idle service takes, what it can do, then the shape, while its memory is read each second.

import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type K6Result, k6, loadOf } from '../lib/k6.ts';
import { sampleMemory } from '../lib/memory-samples.ts';
import { closedScenario, SHAPE, type ShapeName, scenariosOf, thresholdsOf } from '../lib/shapes.ts';
import { summarise } from './result.ts';
import { type Setting, startSetting } from './setting.ts';
import { type Area, weightsOf } from './weights.ts';

const WARM_UP_SECONDS = 10;
const IDLE_SECONDS = 15;
const CAPACITY_SECONDS = 20;
/** Enough to keep every processor busy, and few enough that nothing waits for long. */
const CAPACITY_USERS = 8 * availableParallelism();
const STATISTICS = ['avg', 'min', 'max', 'p(50)', 'p(90)', 'p(95)', 'p(99)'];

export type Asked = {
  shape: ShapeName;
  area: Area | 'all';
  minutes?: number | undefined;
  capacity?: number | undefined;
  /** Of each area in place of minutes, where the shape is `smoke`. */
  iterations?: number;
  environment?: Record<string, string>;
  /** Where k6 writes its own page of the run. */
  report?: string;
};

export type LoadResult = ReturnType<typeof summarise>;

export async function runLoad({
  shape: name,
  area,
  environment = {},
  report,
  ...asked
}: Asked): Promise<LoadResult> {
  const shape = SHAPE[name];
  const minutes = asked.minutes ?? shape.minutes;
  const weights = weightsOf(area);
  await using setting = await startSetting(environment);
  const common = { weights: JSON.stringify(weights), setting };
  const closed = async (users: number, seconds: number) => {
    const result = await runScript({
      ...common,
      options: { scenarios: closedScenario(users, seconds), thresholds: { checks: ['rate==1'] } },
      refusals: false,
    });
    if (result.broken.length > 0) throw new Error(`before the load, already: ${mistakesOf(result)}`);
    const { p50Ms, p99Ms, counters } = loadOf(result.metrics);
    return { p50Ms, p99Ms, perSecond: (counters['done'] ?? 0) / seconds };
  };
  let idle: { p50Ms: number; p99Ms: number } | undefined;
  let capacity = asked.capacity ?? 0;
  if (shape.stages !== undefined) {
    await closed(CAPACITY_USERS, WARM_UP_SECONDS);
    idle = await closed(1, IDLE_SECONDS);
    if (asked.capacity === undefined) capacity = (await closed(CAPACITY_USERS, CAPACITY_SECONDS)).perSecond;
  }
  const startedAt = new Date();
  const seconds = minutes * 60;
  using memory = sampleMemory(setting.service.pid);
  const k6Result = await runScript({
    ...common,
    options: {
      scenarios: scenariosOf(shape, { weights, seconds, capacity, iterations: asked.iterations }),
      thresholds: thresholdsOf(shape, idle?.p99Ms),
    },
    refusals: shape.refusals,
    choice: shape.stages === undefined ? 'turns' : 'chance',
    report,
  });
  const { configured } = setting;
  const samples = memory.samples;
  return summarise({
    name,
    area,
    weights,
    minutes,
    configured,
    startedAt,
    idle,
    samples,
    capacity: shape.stages === undefined ? undefined : capacity,
    k6: k6Result,
  });
}

type Script = {
  options: object;
  weights: string;
  setting: Setting;
  refusals: boolean;
  /** Of the kinds of work of an area. */
  choice?: 'chance' | 'turns';
  report?: string | undefined;
};

const runScript = ({
  options,
  weights,
  setting,
  refusals,
  choice = 'chance',
  report,
}: Script): Promise<K6Result> =>
  k6(
    join(import.meta.dir, 'main.js'),
    {
      OPTIONS: JSON.stringify({ ...options, summaryTrendStats: STATISTICS }),
      SETTING: setting.file,
      WEIGHTS: weights,
      RUN: crypto.randomUUID().slice(0, 8),
      REFUSALS: refusals ? 'allowed' : 'mistakes',
      SHOWS_MISTAKES: '1',
      CHOICE: choice,
    },
    { report },
  );

const mistakesOf = ({ root_group, broken }: K6Result): string =>
  root_group.checks
    .filter(({ fails }) => fails > 0)
    .map(({ name, fails }) => `${name} (${fails})`)
    .join(', ') || broken.join(', ');
