import { formatDate, formatRelative, formatTime, parseTime } from '../text.ts';

const FORMS = { time: formatTime, date: formatDate };

/** A time or its date in the reader's zone, with UTC on hover. `relative`: as its distance from now. */
export function Time({
  at,
  relative = false,
  form = 'time',
}: {
  at: string | null;
  relative?: boolean;
  form?: keyof typeof FORMS;
}) {
  if (at === null) return <span class="soft">–</span>;
  const time = parseTime(at);
  const utc = `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return (
    <time
      class="nowrap"
      dateTime={time.toISOString()}
      title={relative || form === 'date' ? `${formatTime(time)} · ${utc}` : utc}
    >
      {relative ? formatRelative(time) : FORMS[form](time)}
    </time>
  );
}
