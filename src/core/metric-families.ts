// Metrics of one process, and those of several processes as one.

/**
 * How the values of several processes become one. `sum`: each has its part. `largest`: all read the same thing, or one of them
 * that is unwell is enough. `each`: they stay apart, with the label `process`.
 */
export type Across = 'sum' | 'largest' | 'each';

/** A series as Prometheus' text format names it, labels included. */
export type Series = [name: string, value: number];

export type MetricFamily = {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  across: Across;
  series: Series[];
};

/** `process`: its number; absent for the sums of those that have ended. */
export type FamiliesOfProcess = { process?: number; families: readonly MetricFamily[] };

export function joinFamilies(parts: readonly FamiliesOfProcess[]): MetricFamily[] {
  const joined = new Map<string, { family: MetricFamily; values: Map<string, number> }>();
  for (const { process, families } of parts)
    for (const family of families) {
      const { values } = joined.get(family.name) ?? { values: new Map<string, number>() };
      joined.set(family.name, { family, values });
      for (const [name, value] of family.series) {
        const key = family.across === 'each' ? labelled(name, process) : name;
        const known = values.get(key);
        if (known === undefined) values.set(key, value);
        else values.set(key, family.across === 'largest' ? Math.max(known, value) : known + value);
      }
    }
  return [...joined.values()].map(({ family, values }) => ({ ...family, series: [...values] }));
}

/** What still counts when a process has ended: without it sums would fall, which Prometheus takes for a restart. */
export const lasting = (families: readonly MetricFamily[]): MetricFamily[] =>
  families.filter(({ type, across }) => type !== 'gauge' && across === 'sum');

function labelled(name: string, process: number | undefined): string {
  const label = `process="${process ?? ''}"`;
  return name.endsWith('}') ? name.replace('{', `{${label},`) : `${name}{${label}}`;
}
