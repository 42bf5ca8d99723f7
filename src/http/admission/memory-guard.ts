// The ceiling of the memory of the process (MEMORY_MAX): beyond it work is refused, so that the process is not ended.

/** `tight`: large work is refused. `full`: all work is. */
export type MemoryLevel = 'fine' | 'tight' | 'full';

export type MemoryGuard = { readonly bytesMax: number; level(): MemoryLevel };

/** Reading costs some twenty microseconds. */
const READ_EVERY_MS = 100;
/** Refused work makes no garbage that would be collected by itself. A collection may take a tenth of a second. */
const COLLECT_EVERY_MS = 2000;

/** Shares of the ceiling at which a level begins, and below which it ends. */
const TIGHT = { from: 0.85, until: 0.75 };
const FULL = { from: 1, until: 0.9 };

export type MemorySource = { residentBytes(): number; collect(): void; nowMs(): number };

const OF_PROCESS: MemorySource = {
  residentBytes: () => process.memoryUsage.rss(),
  collect: () => Bun.gc(true),
  nowMs: () => performance.now(),
};

/** The level is read when it is asked for, at most ten times a second: a process without requests reads nothing. */
export function createMemoryGuard(bytesMax: number, source: MemorySource = OF_PROCESS): MemoryGuard {
  let level: MemoryLevel = 'fine';
  let readAtMs = Number.NEGATIVE_INFINITY;
  let collectedAtMs = Number.NEGATIVE_INFINITY;

  const read = (): MemoryLevel => {
    const share = source.residentBytes() / bytesMax;
    if (share >= (level === 'full' ? FULL.until : FULL.from)) return 'full';
    return share >= (level === 'fine' ? TIGHT.from : TIGHT.until) ? 'tight' : 'fine';
  };

  return {
    bytesMax,
    level() {
      const nowMs = source.nowMs();
      if (nowMs - readAtMs < READ_EVERY_MS) return level;
      readAtMs = nowMs;
      level = read();
      if (level === 'fine' || nowMs - collectedAtMs < COLLECT_EVERY_MS) return level;
      collectedAtMs = nowMs;
      source.collect();
      level = read();
      return level;
    },
  };
}
