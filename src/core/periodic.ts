import type { Job } from './lifecycle.ts';
import type { Logger } from './logger.ts';

/**
 * A job that runs at start, and again after each interval. Runs never overlap; a failed run is logged, and the next one
 * follows after the interval. `run` should check the signal between its steps.
 */
export function createPeriodic(options: {
  name: string;
  intervalMs: number;
  run(signal: AbortSignal): Promise<void>;
  log: Logger;
}): Job {
  const { name, log } = options;
  const stopping = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> = Promise.resolve();

  const runOnce = async (): Promise<void> => {
    try {
      await options.run(stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted)
        log.warn({ job: name, err: error }, 'a periodic job failed; it will be tried again');
    }
  };
  const next = (): Promise<void> => {
    clearTimeout(timer);
    running = running.then(runOnce).then(() => {
      if (!stopping.signal.aborted) timer = setTimeout(() => void next(), options.intervalMs);
    });
    return running;
  };

  return {
    name,
    start: () => void next(),
    settle: next,
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
