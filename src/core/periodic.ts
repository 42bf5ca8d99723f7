import type { Job } from './lifecycle.ts';
import type { Logger } from './logger.ts';
import { inTrace } from './tracing.ts';
import { endsWithin } from './wait.ts';

/** What a run resolves to: `again`, where there is more to do before the next interval. Anything else means that there is not. */
export type RunOutcome = 'again' | undefined;

/** Pauses before a run that follows early double from the one to the other, and are never longer than the interval. */
const AGAIN_MS_MIN = 500;
const AGAIN_MS_MAX = 60_000;

/**
 * The delay after a start of jobs that nothing waits for, such as the removal of outdated rows. They would compete with the start
 * and with the first requests.
 */
export const UPKEEP_DELAY_MS = 30_000;

/** How long a first run may keep the next one waiting. */
const TURN_MS_MAX = 100;

let turns: Promise<unknown> = Promise.resolve();

/**
 * The first runs of a start's jobs, one after the other. Most are a statement or two that find nothing to do; all at once they would
 * open a connection each.
 */
export function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const ran = turns.then(run);
  const over = ran.catch(() => undefined);
  turns = turns.then(() => endsWithin(over, TURN_MS_MAX));
  return ran;
}

/**
 * A job that runs at start, or `delayMs` after it (never later than after one interval), and again after each interval. Runs never
 * overlap. A run that returns `again` is followed by another one within a minute. A failed run is logged, and followed by another
 * one after a pause that grows up to the interval. `run` should check the signal between its steps.
 */
export function createPeriodic(options: {
  name: string;
  intervalMs: number;
  delayMs?: number;
  run(signal: AbortSignal): Promise<unknown>;
  log: Logger;
}): Job {
  const { name, intervalMs, delayMs = 0, log } = options;
  const stopping = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> = Promise.resolve();
  let againMs = AGAIN_MS_MIN;

  const runOnce = async (): Promise<RunOutcome | 'failed'> => {
    try {
      return (await options.run(stopping.signal)) === 'again' ? 'again' : undefined;
    } catch (error) {
      if (!stopping.signal.aborted)
        log.warn({ job: name, err: error }, 'a periodic job failed; it will be tried again');
      return 'failed';
    }
  };
  const pauseAfter = (outcome: RunOutcome | 'failed'): number => {
    const pauseMs = outcome === undefined ? intervalMs : Math.min(againMs, intervalMs);
    againMs = outcome === undefined ? AGAIN_MS_MIN : 2 * pauseMs;
    return outcome === 'again' ? Math.min(pauseMs, AGAIN_MS_MAX) : pauseMs;
  };
  const run = (begin = runOnce): Promise<void> => {
    clearTimeout(timer);
    running = running.then(begin).then((outcome) => {
      const pauseMs = pauseAfter(outcome);
      if (!stopping.signal.aborted) timer = setTimeout(() => void next(), pauseMs);
    });
    return running;
  };
  /** Outside the trace of a request that asks for a run: all later ones would belong to it, too. */
  const next = (begin = runOnce): Promise<void> => inTrace(undefined, () => run(begin));

  return {
    name,
    start() {
      if (delayMs === 0) void next(() => inTurn(runOnce));
      else timer = setTimeout(() => void next(), Math.min(delayMs, intervalMs));
    },
    settle() {
      againMs = AGAIN_MS_MIN;
      return next();
    },
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
