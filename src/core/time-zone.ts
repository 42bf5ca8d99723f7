// Time zones by their IANA names.

const NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const HOUR_MS = 3_600_000;

const formats = new Map<string, Intl.DateTimeFormat>();
const FORMATS_MAX = 100;

/** Undefined for a text that names no zone. Offsets such as `+02:00` are none: Postgres reads their sign the other way round. */
function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  if (!NAME.test(zone)) return undefined;
  try {
    const units = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
    const clock = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const;
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, ...units, ...clock });
    if (formats.size >= FORMATS_MAX) formats.clear();
    formats.set(zone, format);
    return format;
  } catch {
    return undefined;
  }
}

export const isTimeZone = (zone: string): boolean => formatOf(zone) !== undefined;

/** How far the zone is ahead of UTC at that time, in milliseconds. */
function offsetAt(zone: string, ms: number): number {
  const parts = formatOf(zone)?.formatToParts(ms) ?? [];
  const read = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((part) => part.type === type)?.value ?? 0);
  const local = new Date(0);
  local.setUTCFullYear(read('year'), read('month') - 1, read('day'));
  local.setUTCHours(read('hour'), read('minute'), read('second'));
  return local.getTime() - Math.floor(ms / 1000) * 1000;
}

/** A local time, given as if it were UTC, as UTC. Of an hour that comes twice it is the first, or the second. */
export function fromLocalTime(zone: string, localMs: number): number {
  const near = localMs - offsetAt(zone, localMs);
  return localMs - offsetAt(zone, near);
}

/** Whether hours begin in the zone when they begin in UTC, in summer and in winter of that year. */
export const hasWholeHours = (zone: string, now: Date): boolean =>
  [0, 6].every((month) => offsetAt(zone, Date.UTC(now.getUTCFullYear(), month, 1)) % HOUR_MS === 0);
