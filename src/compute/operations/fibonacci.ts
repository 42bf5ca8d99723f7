import type { Pool } from '../../infra/wasm/pool.ts';
import { FIBONACCI_RUN_MS_MAX, FIBONACCI_WAIT_MS_MAX, SHORT_N_MAX } from '../limits.ts';

export type Computed = { n: number; result: string; durationMs: number };

/** The time of the longest short computation, and how it grows with n: the golden ratio. */
const SHORT_N_MAX_MS = 2;
const GROWTH = (1 + Math.sqrt(5)) / 2;

/**
 * Computes the n-th Fibonacci number by naive recursion, on a thread. `owner`: whose share of the threads it takes. Throws 503 when the queue is full and when the service
 * ends; the signal's reason when it aborts, which frees the thread.
 */
export function createFibonacci({ pool }: { pool: Pool }) {
  return async (n: number, owner: string, signal: AbortSignal): Promise<Computed> => {
    const [result] = await pool.run({
      kind: 'fibonacci',
      lane: n <= SHORT_N_MAX ? 'short' : 'long',
      parts: [n],
      share: { owner, costMs: SHORT_N_MAX_MS * GROWTH ** (n - SHORT_N_MAX) },
      name: 'Compute',
      waitMsMax: FIBONACCI_WAIT_MS_MAX,
      runMsMax: FIBONACCI_RUN_MS_MAX,
      signal,
    });
    if (result === undefined) throw new Error('one part gives one result');
    return { n, result: result.output as string, durationMs: result.ms };
  };
}
