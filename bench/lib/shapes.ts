// The shapes of a load over time, for k6: each area has a scenario, whose share of the load is its weight.

export const SHAPES = ['smoke', 'load', 'stress', 'spike', 'soak'] as const;
export type ShapeName = (typeof SHAPES)[number];

/** A share of the time, in which the load goes from where it was to a share of the capacity. */
type Stage = { time: number; load: number };

/**
 * Holds for one level after the other; the way from one to the next takes a fiftieth of the whole time.
 */
const levels = (...steps: readonly Stage[]): Stage[] =>
  steps.flatMap(({ time, load }) => [
    { time: 0.02, load },
    { time: time - 0.02, load },
  ]);

export type Shape = {
  meaning: string;
  /** Undefined where it is one user an area, one iteration after the other. */
  stages?: readonly Stage[];
  /** Whether the service may refuse what is too much, by 503 with `Retry-After`. */
  refusals: boolean;
  /** The 99th percentile may be so many times that of the idle service. */
  p99TimesMax?: number;
  minutes: number;
};

const SHARE_OF_LOAD = 0.7;
const SHARE_OF_SOAK = 0.5;

export const SHAPE: Readonly<Record<ShapeName, Shape>> = {
  smoke: { meaning: 'one user an area: does everything work?', refusals: false, minutes: 0.25 },
  load: {
    meaning: '70 % of the capacity: how long do answers take on a busy day?',
    stages: [
      { time: 0.1, load: SHARE_OF_LOAD },
      { time: 0.9, load: SHARE_OF_LOAD },
    ],
    refusals: false,
    p99TimesMax: 5,
    minutes: 2,
  },
  stress: {
    meaning: 'up to twice the capacity, in steps: what happens to what is too much?',
    stages: levels(
      ...[0.5, 0.75, 1, 1.25, 1.5].map((load) => ({ time: 0.15, load })),
      { time: 0.15, load: 2 },
      { time: 0.1, load: 0.25 },
    ),
    refusals: true,
    minutes: 3,
  },
  spike: {
    meaning: 'twice the capacity all at once, and back: is it well again at once?',
    stages: levels({ time: 0.35, load: 0.2 }, { time: 0.2, load: 2 }, { time: 0.45, load: 0.2 }),
    refusals: true,
    minutes: 2,
  },
  soak: {
    meaning: 'half of the capacity for long: does memory grow, does anything fail?',
    stages: [
      { time: 0.02, load: SHARE_OF_SOAK },
      { time: 0.98, load: SHARE_OF_SOAK },
    ],
    refusals: false,
    minutes: 30,
  },
};

export type Weights = Readonly<Record<string, number>>;

/** Users whose requests may be on their way at once, for each area: more iterations are not begun, and are counted. */
const USERS_MAX = 200;
const USERS_MIN = 4;
const GRACEFUL_STOP = '30s';

/** For one that waits for each answer before it asks again, `users` of them, choosing among the areas. */
export const closedScenario = (users: number, seconds: number): object => ({
  mixed: {
    executor: 'constant-vus',
    vus: users,
    duration: `${seconds}s`,
    exec: 'mixed',
    gracefulStop: GRACEFUL_STOP,
  },
});

type Extent = {
  weights: Weights;
  seconds: number;
  /** Iterations a second of all areas together. */
  capacity: number;
  /** Of each area, in place of a time, where a shape has one user an area. */
  iterations?: number | undefined;
};

export function scenariosOf({ stages }: Shape, extent: Extent): object {
  const { weights, seconds, capacity, iterations } = extent;
  const total = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  const single =
    iterations === undefined
      ? { executor: 'constant-vus', vus: 1, duration: `${seconds}s` }
      : { executor: 'per-vu-iterations', vus: 1, iterations, maxDuration: '10m' };
  // By the minute: an area may have less than one iteration a second.
  const target = (weight: number, load: number): number =>
    Math.max(1, Math.round(((capacity * weight) / total) * load * 60));
  const scenario = (weight: number): object =>
    stages === undefined
      ? single
      : {
          executor: 'ramping-arrival-rate',
          timeUnit: '1m',
          startRate: 0,
          preAllocatedVUs: USERS_MIN,
          maxVUs: USERS_MAX,
          stages: stages.map(({ time, load }) => ({
            duration: `${Math.round(time * seconds * 1000)}ms`,
            target: target(weight, load),
          })),
        };
  return Object.fromEntries(
    Object.entries(weights).map(([area, weight]) => [
      area,
      { ...scenario(weight), exec: area, tags: { area }, gracefulStop: GRACEFUL_STOP },
    ]),
  );
}

/** What a run has to keep: nothing fails, whatever the load; times are compared with the idle service of the same machine alone. */
export const thresholdsOf = (
  { refusals, p99TimesMax }: Shape,
  idleP99Ms: number | undefined,
): Record<string, string[]> => ({
  checks: ['rate==1'],
  http_req_failed: ['rate==0'],
  ...(refusals ? {} : { refused: ['count==0'] }),
  ...(p99TimesMax === undefined || idleP99Ms === undefined
    ? {}
    : { http_req_duration: [`p(99)<=${(p99TimesMax * idleP99Ms).toFixed(1)}`] }),
});
