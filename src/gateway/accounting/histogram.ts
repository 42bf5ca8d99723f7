// How long requests took, as counts of buckets, each half an octave wide (OpenTelemetry's exponential histogram of scale 1):
// a percentile is exact to a factor of 1.41, its bucket's width. The counts are written as the digits of one number, so that a database adds
// histograms as it adds numbers.

/** From 1 ms and less to 12 minutes and more. */
export const BUCKETS_COUNT = 40;
/** Decimal digits of a bucket's count; the first bucket has the last digits. */
const DIGITS = 10;

/** The count of each bucket. */
export type Histogram = ArrayLike<number>;

/** Above the bound of the bucket before it, up to its own: 1 ms, 1.41 ms, 2 ms … */
const boundOf = (bucket: number): number => 2 ** (bucket / 2);

/** The bucket of a time in milliseconds. */
export const bucketOf = (ms: number): number =>
  ms <= 1 ? 0 : Math.min(BUCKETS_COUNT - 1, Math.ceil(2 * Math.log2(ms)));

/** A decimal number. */
export function renderHistogram(counts: Histogram): string {
  let text = '';
  for (let bucket = counts.length - 1; bucket >= 0; bucket--) {
    const count = counts[bucket] ?? 0;
    if (text !== '' || count > 0) text += text === '' ? count : String(count).padStart(DIGITS, '0');
  }
  return text === '' ? '0' : text;
}

/** The counts of a decimal number. */
export const parseHistogram = (text: string): number[] =>
  Array.from({ length: BUCKETS_COUNT }, (_, bucket) => {
    const end = text.length - bucket * DIGITS;
    return end <= 0 ? 0 : Number(text.slice(Math.max(0, end - DIGITS), end));
  });

/** Adds two histograms. */
export const addHistograms = (a: Histogram, b: Histogram): number[] =>
  Array.from({ length: BUCKETS_COUNT }, (_, bucket) => (a[bucket] ?? 0) + (b[bucket] ?? 0));

/**
 * The time in milliseconds within which this share of the requests ended, 0 to 1; undefined without requests. Within its
 * bucket it is interpolated.
 */
export function percentileOf(counts: Histogram, share: number): number | undefined {
  const all = Array.from(counts).reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  const wanted = share * all;
  let before = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const count = counts[bucket] ?? 0;
    if (count > 0 && before + count >= wanted) {
      const fraction = Math.max(0, wanted - before) / count;
      return bucket === 0 ? fraction : boundOf(bucket - 1) * Math.SQRT2 ** fraction;
    }
    before += count;
  }
  return boundOf(counts.length - 1);
}
