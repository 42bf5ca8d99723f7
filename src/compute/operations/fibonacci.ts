import type { createPool } from '../../infra/wasm/pool.ts';
import { FIBONACCI_MS_MAX, SHORT_N_MAX } from '../limits.ts';

/**
 * Computes the n-th Fibonacci number by naive recursion on a thread, in `owner`'s turn. Throws 503 when the queue is full, when it
 * takes too long and when the service ends; the signal's reason when it aborts, which frees the thread.
 */
export const createFibonacci =
  (lanes: Record<'short' | 'long', ReturnType<typeof createPool>>) =>
  async (n: number, owner: string, signal: AbortSignal): Promise<{ result: string; ms: number }> => {
    const { output, ms } = await lanes[n <= SHORT_N_MAX ? 'short' : 'long'].run({
      kind: 'fibonacci',
      input: n,
      owner,
      name: 'Compute',
      timeoutMs: FIBONACCI_MS_MAX,
      signal,
    });
    return { result: output as string, ms };
  };
