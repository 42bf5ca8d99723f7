import type { Pool } from '../../infra/wasm/pool.ts';
import { FIBONACCI_RUN_MS_MAX, FIBONACCI_WAIT_MS_MAX, SHORT_N_MAX } from '../limits.ts';

export type Computed = { n: number; result: string; durationMs: number };

/**
 * Computes the n-th Fibonacci number by naive recursion, on a thread. Throws 503 when the queue is full and when the service
 * ends; the signal's reason when it aborts, which frees the thread.
 */
export function createFibonacci({ pool }: { pool: Pool }) {
  return async (n: number, signal: AbortSignal): Promise<Computed> => {
    const [result] = await pool.run({
      kind: 'fibonacci',
      lane: n <= SHORT_N_MAX ? 'short' : 'long',
      parts: [n],
      name: 'Compute',
      waitMsMax: FIBONACCI_WAIT_MS_MAX,
      runMsMax: FIBONACCI_RUN_MS_MAX,
      signal,
    });
    if (result === undefined) throw new Error('one part gives one result');
    return { n, result: result.output as string, durationMs: result.ms };
  };
}
