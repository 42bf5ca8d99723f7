import { formatRelative, formatTime, parseTime } from '../text.ts';

/** A time in the reader's zone, with UTC on hover. `relative`: as its distance from now. */
export function Time({ at, relative = false }: { at: string | null; relative?: boolean }) {
  if (at === null) return <span class="soft">–</span>;
  const time = parseTime(at);
  const utc = `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return (
    <time
      class="nowrap"
      dateTime={time.toISOString()}
      title={relative ? `${formatTime(time)} · ${utc}` : utc}
    >
      {relative ? formatRelative(time) : formatTime(time)}
    </time>
  );
}
