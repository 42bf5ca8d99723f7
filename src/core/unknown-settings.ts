// Variables that look like settings and are none: a service with a misspelt name would start without what it was given.

import { editDistance } from './edit-distance.ts';
import type { Environment } from './secret-files.ts';
import type { Setting } from './settings-reader.ts';

/** First words of our names that other programs use too: a name with one of them is reported only if it is nearly ours. */
const COMMON_WORDS = new Set(['DATA', 'EVENT', 'LOG', 'PUBLIC', 'OTEL', 'MEMORY', 'OPENAI', 'MODELS']);
/** What Kubernetes and Docker set for a service named like one of our words. */
const OF_SERVICES = /_(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT(?:_\d+_(?:TCP|UDP)(?:_\w+)?)?)$/;
/** Names that are shorter may have one mistake, longer ones two. */
const LONG_NAME = 8;
const NAME_LENGTH_MAX = 100;

/**
 * One sentence for each variable that is set and looks like a setting without being one; no sentence has its value. `used`: names
 * of variables that the service reads although they are not in the table.
 */
export function findUnknownSettings(
  table: Record<string, Setting>,
  environment: Environment,
  used: ReadonlySet<string>,
): string[] {
  const names = Object.keys(table);
  const known = new Set([
    ...names,
    ...Object.entries(table).flatMap(([name, { secret }]) => (secret === true ? [`${name}_FILE`] : [])),
  ]);
  const families = new Set(
    names
      .flatMap((name) => /^[A-Z0-9]+(?=_)/.exec(name)?.[0] ?? [])
      .filter((word) => !COMMON_WORDS.has(word)),
  );
  const isOther = (given: string): boolean =>
    known.has(given) ||
    used.has(given) ||
    used.has(given.replace(/_FILE$/, '')) ||
    OF_SERVICES.test(given) ||
    given.length > NAME_LENGTH_MAX ||
    (environment[given]?.trim() ?? '') === '';
  return Object.keys(environment).flatMap((given) => {
    if (isOther(given)) return [];
    const written = given.toUpperCase().replaceAll(/[-.]/g, '_');
    const stripped = written.replace(/^ATRIUM_/, '');
    const base = stripped.replace(/_FILE$/, '');
    if (Object.hasOwn(table, base) && stripped !== base && table[base]?.secret !== true)
      return [`${given} is no setting: ${base} is not secret, and cannot come from a file`];
    const nearest = nearestOf(stripped, [...known]);
    if (nearest !== undefined) return [`${given} is no setting; did you mean ${nearest}?`];
    const isFamily = written !== stripped || families.has(/^[A-Z0-9]+(?=_)/.exec(given)?.[0] ?? '');
    return isFamily ? [`${given} is no setting; bun run start --help lists those that there are`] : [];
  });
}

function nearestOf(name: string, known: readonly string[]): string | undefined {
  const allowed = name.length < LONG_NAME ? 1 : 2;
  const [first] = known
    .filter((each) => Math.abs(each.length - name.length) <= allowed)
    .map((each) => ({ each, distance: editDistance(name, each) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance);
  return first?.each;
}
