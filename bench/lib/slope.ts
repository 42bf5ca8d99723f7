// Whether something grows: the slope of a line through measured points, and how sure it is.

export type Slope = {
  /** Per hour. */
  perHour: number;
  /** The half of the 95 % confidence interval around it. */
  halfWidth: number;
  verdict: '0 within noise' | 'grows' | 'falls' | 'too short to say';
};

/** Means of as many spans of time stand for the points. */
const SPANS = 16;
const POINTS_MIN = SPANS * 2;
/** Student's t for 95 %, two-sided, with `SPANS − 2` degrees of freedom. */
const T = 2.145;
const MS_PER_HOUR = 3_600_000;

export type Point = { at: number; value: number };

/**
 * Least squares over the means of spans. Values of neighbouring seconds are much alike, memory between two collections above all:
 * taken as independent, they would make the interval far narrower than it is. Means of long spans are nearly independent.
 */
export function slopeOf(points: readonly Point[]): Slope {
  if (points.length < POINTS_MIN)
    return { perHour: Number.NaN, halfWidth: Number.NaN, verdict: 'too short to say' };
  const means = Array.from({ length: SPANS }, (_, span) => {
    const own = points.slice(
      Math.floor((span * points.length) / SPANS),
      Math.floor(((span + 1) * points.length) / SPANS),
    );
    return { x: mean(own.map(({ at }) => at)) / MS_PER_HOUR, y: mean(own.map(({ value }) => value)) };
  });
  const [x, y] = [mean(means.map((each) => each.x)), mean(means.map((each) => each.y))];
  const spread = sum(means.map((each) => (each.x - x) ** 2));
  const perHour = sum(means.map((each) => (each.x - x) * (each.y - y))) / spread;
  const residuals = sum(means.map((each) => (each.y - y - perHour * (each.x - x)) ** 2));
  const halfWidth = T * Math.sqrt(residuals / (SPANS - 2) / spread);
  const verdict = Math.abs(perHour) <= halfWidth ? '0 within noise' : perHour > 0 ? 'grows' : 'falls';
  return { perHour, halfWidth, verdict };
}

/** Of the second half: the first fills caches. */
export const slopeOfSecondHalf = (points: readonly Point[]): Slope =>
  slopeOf(points.slice(Math.floor(points.length / 2)));

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;
