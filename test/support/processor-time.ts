const TRIES = 3;

/**
 * Milliseconds of processor time that the work takes at least, of several tries: what other processes do meanwhile, and a
 * pause of the garbage collector, make a test of proportions fail that goes by the clock on the wall.
 */
export function leastProcessorMs(work: () => void): number {
  const tries = Array.from({ length: TRIES }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...tries);
}
