// Dates and times as ISO 8601 and RFC 3339 write them.

/** The years 1 to 9999 in UTC, in milliseconds since 1970: outside of them, the database does not read what Date writes. */
const TIME_MIN_MS = Date.parse('0001-01-01T00:00:00Z');
export const TIME_MAX_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** The nearest time within these years. */
export const clampTime = (ms: number): number => Math.min(Math.max(ms, TIME_MIN_MS), TIME_MAX_MS);

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s?(?:([Zz])|([+-])(\d\d):?(\d\d)?)?$/;
const USUAL_LENGTH = '2026-01-31T10:00:00.000Z'.length;

/**
 * A date, with or without time and zone, at millisecond precision; without a zone it is UTC.
 * Undefined for other text, for days and times that do not exist, and for times outside the years 1 to 9999 in UTC.
 */
export function parseDateTime(text: string): Date | undefined {
  // The usual form, which a Date writes itself, takes a quarter of the time this way.
  const usual = new Date(text.length === USUAL_LENGTH ? text : Number.NaN);
  if (usual.getTime() === clampTime(usual.getTime()) && usual.toISOString() === text) return usual;
  const parts = DATE_TIME.exec(text);
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0));
  if (year === undefined || month === undefined || day === undefined) return undefined;
  if (hour === undefined || minute === undefined || second === undefined) return undefined;
  const milliseconds = Number((parts[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const local = new Date(0);
  local.setUTCFullYear(year, month - 1, day);
  if (local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  local.setUTCHours(hour, minute, second, milliseconds);
  const offsetMinutes = Number(parts[10] ?? 0) * 60 + Number(parts[11] ?? 0);
  if (offsetMinutes >= 24 * 60) return undefined;
  const ms = local.getTime() - (parts[9] === '-' ? -offsetMinutes : offsetMinutes) * 60_000;
  return ms === clampTime(ms) ? new Date(ms) : undefined;
}
