// So many acts of one name at once, and so many a minute after that. Each process counts by itself.

/** Names that are remembered. Those whose bucket is full again are forgotten first. */
const NAMES_MAX = 10_000;

type Bucket = { tokens: number; atMs: number };

/** `now`: monotonic milliseconds. */
export function createTokenBuckets({
  burst,
  perMinute,
  now = () => performance.now(),
}: {
  burst: number;
  perMinute: number;
  now?: () => number;
}) {
  const buckets = new Map<string, Bucket>();
  const perMs = perMinute / 60_000;
  const fill = ({ tokens, atMs }: Bucket): number => Math.min(burst, tokens + (now() - atMs) * perMs);
  const forgetFull = (): void => {
    for (const [name, bucket] of buckets) if (fill(bucket) >= burst) buckets.delete(name);
  };
  return {
    /** Takes a token; else returns the seconds until there is one. */
    take(name: string): number | undefined {
      if (buckets.size >= NAMES_MAX) forgetFull();
      const tokens = fill(buckets.get(name) ?? { tokens: burst, atMs: now() });
      if (tokens < 1) return Math.ceil((1 - tokens) / perMs / 1000);
      buckets.set(name, { tokens: tokens - 1, atMs: now() });
      return undefined;
    },
  };
}
