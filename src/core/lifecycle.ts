// The background jobs of the areas: started in order, ended in reverse order, each with a deadline.

import type { Logger } from './logger.ts';
import { endsWithin } from './wait.ts';

/** Background work. `stop` ends it after its current step. */
export type Job = {
  name: string;
  start(): void | Promise<void>;
  stop(): Promise<void>;
  /** Resolves when no due work is left; for tests and ordered shutdowns. */
  settle?(): Promise<void>;
};

export function createLifecycle(jobs: readonly Job[], log: Logger) {
  const started: Job[] = [];
  return {
    async start(): Promise<void> {
      for (const job of jobs) {
        await job.start();
        started.push(job);
      }
    },
    /** Ends the started jobs in reverse order; one that exceeds its time is abandoned and logged. */
    async stop(timeoutMs: number): Promise<void> {
      const deadline = performance.now() + timeoutMs;
      for (let job = started.pop(); job !== undefined; job = started.pop()) {
        const leftMs = Math.max(100, deadline - performance.now());
        try {
          if (!(await endsWithin(job.stop(), leftMs)))
            log.warn({ job: job.name }, 'a job did not end in time');
        } catch (error) {
          log.error({ job: job.name, err: error }, 'a job failed to end');
        }
      }
    },
    async settle(): Promise<void> {
      for (const job of jobs) await job.settle?.();
    },
  };
}
