/** Collects items and hands them on together, after a short while or as soon as there are enough. */
export type Batcher<Item> = {
  /** Takes an item, unless too many wait already: then false. */
  add(item: Item): boolean;
  /** Hands on what waits and resolves when all that was handed on is done. */
  flush(): Promise<void>;
};

/** `run` handles one batch at a time and must not throw: what to do about a failure is its own affair. */
export function createBatcher<Item>(options: {
  itemsMax: number;
  waitingMax: number;
  delayMs: number;
  run(items: Item[]): Promise<void>;
}): Batcher<Item> {
  const waiting: Item[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> | undefined;

  const start = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    running ??= drain().finally(() => {
      running = undefined;
    });
    return running;
  };

  async function drain(): Promise<void> {
    while (waiting.length > 0) await options.run(waiting.splice(0, options.itemsMax));
  }

  return {
    add(item) {
      if (waiting.length >= options.waitingMax) return false;
      waiting.push(item);
      if (waiting.length >= options.itemsMax) void start();
      else timer ??= setTimeout(() => void start(), options.delayMs);
      return true;
    },
    flush: start,
  };
}
