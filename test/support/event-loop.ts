// How long work holds the event loop at a time.

const TRIES = 5;

/**
 * Runs the work; returns the longest time for which nothing else could run, as a share of the time of the whole work: the smallest of
 * some tries, because other processes take the processor in the midst of one.
 */
export async function shareHeld(work: () => Promise<unknown>): Promise<number> {
  const shares: number[] = [];
  for (let tries = 0; tries < TRIES; tries++) shares.push(await shareHeldOnce(work));
  return Math.min(...shares);
}

async function shareHeldOnce(work: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  let longestMs = 0;
  const startedAt = performance.now();
  const watching = (async () => {
    for (let last = startedAt; !isOver; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = performance.now();
      longestMs = Math.max(longestMs, now - last);
      last = now;
    }
  })();
  try {
    await work();
  } finally {
    // Also where the work fails: the loop would go on for ever.
    isOver = true;
  }
  const totalMs = performance.now() - startedAt;
  await watching;
  return longestMs / totalMs;
}
