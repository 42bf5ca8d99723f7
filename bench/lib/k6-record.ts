// What k6's dashboard has recorded of a run: for each second, sums and percentiles of what happened in it.

import { readFileSync } from 'node:fs';

/** One second of a run; the metrics by their names in k6, of an area as `http_reqs{area:chat}`. */
export type Second = { at: number; values: Record<string, Record<string, number>> };

type Kind = { type: 'counter' | 'gauge' | 'rate' | 'trend' };
type Event = { event: string; data: unknown };

const AGGREGATES: Record<Kind['type'], readonly string[]> = {
  counter: ['count', 'rate'],
  gauge: ['value'],
  rate: ['rate'],
  trend: ['avg', 'max', 'med', 'min', 'p(90)', 'p(95)', 'p(99)'],
};

/** An event names the metrics that are new; a second has the values of all that are known, in the order of their names. */
export function readRecord(path: string): Second[] {
  const kinds: Record<string, Kind> = {};
  const seconds: Second[] = [];
  for (const line of readFileSync(path, 'utf8').split('\n').filter(Boolean)) {
    const { event, data } = JSON.parse(line) as Event;
    if (event === 'metric') Object.assign(kinds, data);
    if (event !== 'snapshot') continue;
    const names = Object.keys(kinds).sort();
    const values = Object.fromEntries(
      (data as number[][]).map((numbers, index) => {
        const name = names[index] ?? '';
        const aggregates = AGGREGATES[kinds[name]?.type ?? 'gauge'];
        return [name, Object.fromEntries(numbers.map((value, at) => [aggregates[at] ?? '', value]))];
      }),
    );
    seconds.push({ at: values['time']?.['value'] ?? 0, values });
  }
  return seconds;
}
