// Windows of whole days (UTC), which end today.

import { query } from './router.ts';

const DAY_MS = 86_400_000;
export const PERIODS = [7, 30, 90, 365] as const;
export type Period = (typeof PERIODS)[number];

/** The days of the URL; 30 where it names none. */
export const readPeriod = (): Period =>
  PERIODS.find((days) => String(days) === query.value.get('days')) ?? 30;

/** The beginnings of the last days in milliseconds, the oldest first. */
export function lastDays(count: number, now = Date.now()): number[] {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  return Array.from({ length: count }, (_, at) => today - (count - 1 - at) * DAY_MS);
}

/** One value a day; days without a row have `absent`. */
export function spread<Row, Value extends number | null>(
  days: readonly number[],
  rows: readonly Row[],
  dayOf: (row: Row) => string,
  read: (row: Row) => Value,
  absent: Value = 0 as Value,
): Value[] {
  const byDay = new Map(rows.map((row) => [Date.parse(dayOf(row).slice(0, 10)), read(row)]));
  return days.map((day) => byDay.get(day) ?? absent);
}

/** As the interface of usage events writes times. */
export const toBound = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').slice(0, 23);
