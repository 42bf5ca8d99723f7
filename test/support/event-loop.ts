// How long work holds the event loop at a time.

/** Runs the work; returns the longest time for which nothing else could run, as a share of the time of the whole work. */
export async function shareHeld(work: () => Promise<unknown>): Promise<number> {
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
  await work();
  const totalMs = performance.now() - startedAt;
  isOver = true;
  await watching;
  return longestMs / totalMs;
}
