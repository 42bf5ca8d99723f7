// The work that a pool is given, and its state between arrival and end.

import { unavailable } from '../../core/errors.ts';

/** Short work takes milliseconds; it never waits for long work, which has threads of its own. */
export type Lane = 'short' | 'long';

export type Work = {
  /** The handler that does it. */
  kind: string;
  lane: Lane;
  /** Each is done by the next free thread of the lane. */
  parts: readonly unknown[];
  /** Whose work it is, where that is shared fairly; absent: it comes before all that is. */
  share?: { owner: string /** Expected milliseconds of the whole. */; costMs: number };
  /** Its name in the sentence of a refusal, which callers see. */
  name: string;
  /** Before its first part begins; from then until its last one has ended. */
  waitMsMax: number;
  runMsMax: number;
  signal: AbortSignal;
};

/** The output of a handler, and how long it took. */
export type PartResult = { output: unknown; ms: number };

export type Ending = 'done' | 'cancelled' | 'late' | 'failed' | 'refused';

/** Some work between its arrival and its end. */
export type Task = {
  readonly work: Work;
  readonly arrivedAt: number;
  begun: boolean;
  settled: boolean;
  /** Positions of the parts that no thread has. */
  readonly pending: number[];
  /** How many threads died at one of its parts. */
  deaths: number;
  readonly results: (PartResult | undefined)[];
  left: number;
  readonly answer: PromiseWithResolvers<PartResult[]>;
  timer: ReturnType<typeof setTimeout> | undefined;
  forget(): void;
};

export function createTask(work: Work): Task {
  return {
    work,
    arrivedAt: performance.now(),
    begun: false,
    settled: false,
    pending: work.parts.map((_, index) => index),
    deaths: 0,
    results: work.parts.map(() => undefined),
    left: work.parts.length,
    answer: Promise.withResolvers(),
    timer: undefined,
    forget() {},
  };
}

export const refusals = {
  full: ({ name }: Work) => unavailable(`${name}: too much is waiting already`),
  late: ({ name }: Work) => unavailable(`${name}: it did not end in time`),
  died: ({ name }: Work) => unavailable(`${name}: the thread that ran it has died`),
  ending: () => unavailable('The service is shutting down'),
};
