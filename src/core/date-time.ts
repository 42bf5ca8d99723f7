// Dates and times as ISO 8601 and RFC 3339 write them.

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s?(?:([Zz])|([+-])(\d\d):?(\d\d)?)?$/;

/**
 * A date, with or without time and zone, at millisecond precision; without a zone it is UTC.
 * Undefined for other text and for days and times that do not exist.
 */
export function parseDateTime(text: string): Date | undefined {
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
  return new Date(local.getTime() - (parts[9] === '-' ? -offsetMinutes : offsetMinutes) * 60_000);
}
