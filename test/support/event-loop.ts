// How long work holds the event loop at a time.

const TRIES = 10;
/** Work that blocks holds nearly all of it, however often it is tried. */
const SMALL = 0.2;

/**
 * Runs the work; returns the longest processor time for which nothing else could run, as a share of that of the whole work: the smallest
 * of some tries, because a collection of garbage may fall into one. Processor time, because other processes take the processor, too.
 */
export async function shareHeld(work: () => Promise<unknown>): Promise<number> {
  let least = 1;
  for (let tries = 0; tries < TRIES && least >= SMALL; tries++)
    least = Math.min(least, await shareHeldOnce(work));
  return least;
}

async function shareHeldOnce(work: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  let longest = 0;
  const startedAt = processorTime();
  const watching = (async () => {
    for (let last = startedAt; !isOver; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = processorTime();
      longest = Math.max(longest, now - last);
      last = now;
    }
  })();
  try {
    await work();
  } finally {
    // Also where the work fails: the loop would go on for ever.
    isOver = true;
  }
  const total = processorTime() - startedAt;
  await watching;
  return longest / total;
}

/** Microseconds of this thread: those of collector and compiler run concurrently. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
