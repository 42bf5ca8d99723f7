// How long to wait for an answer of a server that may be slow: a limit that is too short for it would be reached by every
// request, so that none ever succeeded, and each would be sent again.

export type Patience = {
  /** The limit at present, in milliseconds. */
  ms(): number;
  /** Must be called with the time that an answer took, also of one that came after the limit. */
  answered(tookMs: number): void;
  /** Doubles the limit, where later answers cannot be heard. */
  extend(): void;
};

/** How much slower than those before an answer may be. */
const FACTOR = 2;
/** Of an answer that is faster than those before, as in the time-out of TCP (RFC 6298). */
const SHARE = 1 / 8;

/** From `minMs` to `maxMs`. It is `minMs` again after `maxMs` without any answer, because a server that is gone is not slow. */
export function createPatience({ minMs, maxMs }: { minMs: number; maxMs: number }): Patience {
  let smoothedMs = 0;
  let heardAt = Number.NEGATIVE_INFINITY;
  const ms = (): number =>
    performance.now() - heardAt > maxMs ? minMs : Math.min(maxMs, Math.max(minMs, FACTOR * smoothedMs));
  const hear = (tookMs: number): void => {
    smoothedMs = tookMs;
    heardAt = performance.now();
  };
  return {
    ms,
    answered: (tookMs) => hear(tookMs > smoothedMs ? tookMs : smoothedMs + SHARE * (tookMs - smoothedMs)),
    extend: () => hear(ms()),
  };
}
