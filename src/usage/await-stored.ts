import { until } from '../core/wait.ts';
import type { BufferMetrics, EventBuffer } from './buffer/event-buffer.ts';

const POLL_MS = 50;

/**
 * Waits until all events are stored that the buffer has accepted by now, at most for the time. Returns how many packs of them are
 * not; null where the buffer was away.
 */
export async function awaitStored(
  buffer: Pick<EventBuffer, 'metrics'>,
  timeoutMs: number,
): Promise<number | null> {
  let found: BufferMetrics | undefined;
  let last: number | undefined;
  const left = (): number =>
    Math.max(0, (last ?? 0) + 1 - (found?.waiting?.first ?? Number.POSITIVE_INFINITY));
  const isStored = async (): Promise<boolean> => {
    // A connection is opened in the background.
    found = await buffer.metrics().catch(() => found);
    if (found !== undefined) last ??= found.waiting?.last ?? 0;
    return found !== undefined && left() === 0;
  };
  await until(isStored, { everyMs: POLL_MS, timeoutMs });
  return found === undefined ? null : left();
}
