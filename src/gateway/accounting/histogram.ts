// Times are counted in buckets, each half an octave wide (OpenTelemetry's exponential histogram of scale 1): a percentile is exact to a
// factor of 1.41, its bucket's width. The counts are the digits of one number, so that the database adds histograms as it adds
// numbers.

/** From 1 ms and less to 12 minutes and more. */
const BUCKETS_COUNT = 40;
/** Decimal digits of a bucket's count; the first bucket has the last digits. */
const DIGITS = 10;

/** The count of each bucket. */
export type Histogram = readonly number[];

/** The upper bound of a bucket in milliseconds: 1, 1.41, 2, … */
const boundOf = (bucket: number): number => 2 ** (bucket / 2);

/** SQL of the histogram of one time in milliseconds, a `float8` that is not null. */
export const histogramOf = (ms: string): string =>
  `('1e' || ${DIGITS} * least(${BUCKETS_COUNT - 1}, ceil(2 * ln(greatest(${ms}, 1)) / ln(2::float8)))::int)::numeric`;

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
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  const wanted = share * all;
  let before = 0;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && before + count >= wanted) {
      const fraction = Math.max(0, wanted - before) / count;
      return bucket === 0 ? fraction : boundOf(bucket - 1) * Math.SQRT2 ** fraction;
    }
    before += count;
  }
  return boundOf(counts.length - 1);
}
