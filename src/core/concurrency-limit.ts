import { unavailable } from './errors.ts';

/** Lets few run at a time; the others wait in line, and those for whom the line is too long are refused. */
export type ConcurrencyLimit = {
  /** Throws 503 with `Retry-After`, at once, when as many wait as may. */
  run<T>(work: () => Promise<T>): Promise<T>;
};

export function createConcurrencyLimit(options: {
  runningMax: number;
  waitingMax: number;
  /** What a refused caller is told. */
  refusal: string;
}): ConcurrencyLimit {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(work) {
      if (running < options.runningMax) running += 1;
      else {
        if (waiting.length >= options.waitingMax) throw unavailable(options.refusal);
        // Whoever ends hands its place on.
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
