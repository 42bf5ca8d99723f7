import { inTrace } from './tracing.ts';

/**
 * Collects items into batches, which are handled after a delay, or as soon as they are full. `run` handles one batch at a time. It must
 * not throw, and handles its own failures.
 */
export function createBatcher<Item>(options: {
  itemsMax: number;
  waitingMax: number;
  delayMs: number;
  run(items: Item[]): Promise<void>;
}) {
  const waiting: Item[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> | undefined;

  const start = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    // A batch holds the items of several requests: it belongs to the trace of none.
    running ??= inTrace(undefined, drain).finally(() => {
      running = undefined;
    });
    return running;
  };

  async function drain(): Promise<void> {
    while (waiting.length > 0) await options.run(waiting.splice(0, options.itemsMax));
  }

  return {
    /** Adds an item; false where too many wait already. */
    add(item: Item): boolean {
      if (waiting.length >= options.waitingMax) return false;
      waiting.push(item);
      if (waiting.length >= options.itemsMax) void start();
      else timer ??= setTimeout(() => void start(), options.delayMs);
      return true;
    },
    /** Handles the waiting items at once; resolves when all batches are done. */
    flush: start,
  };
}
