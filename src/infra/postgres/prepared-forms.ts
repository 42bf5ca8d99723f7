// How many statements a connection keeps prepared, where callers determine their form: the filters of searches combine without end,
// and the server keeps each statement that it has prepared, with its plan, until the connection ends.

import { isQuery, type Query } from './query-timeout.ts';

const FORMS_MAX = 256;
/** Fragments of a statement: more than some twenty filters have. */
const FRAGMENTS_MAX = 100;
/** No connection of postgres.js lives longer. */
const CONNECTION_LIFE_MS = 3_600_000;

/** The number of each template: all statements from one place in the code have the same. */
const templates = new WeakMap<object, number>();
let templatesKnown = 0;

function templateOf({ strings }: Query): number | string {
  // What is not a template (`unsafe`) is a new list each time.
  if (!('raw' in strings)) return strings.join('?');
  const known = templates.get(strings);
  if (known !== undefined) return known;
  templates.set(strings, ++templatesKnown);
  return templatesKnown;
}

function collectForm(query: Query, form: (number | string)[]): void {
  form.push(templateOf(query));
  for (const value of query.args)
    if (isQuery(value)) collectForm(value, form);
    else if (Array.isArray(value) && isQuery(value[0])) for (const each of value) collectForm(each, form);
}

/**
 * Says of each statement of a pool whether it is prepared. Within the life of a connection these are the first `formsMax` forms that
 * are asked for, if they are not very long; others are parsed each time, which costs them a round trip.
 */
export function createPreparedForms(formsMax = FORMS_MAX, nowMs = () => performance.now()) {
  const known = new Set<string>();
  let sinceMs = nowMs();
  return (query: Query): boolean => {
    const parts: (number | string)[] = [];
    collectForm(query, parts);
    if (parts.length > FRAGMENTS_MAX) return false;
    if (nowMs() - sinceMs > CONNECTION_LIFE_MS) {
      known.clear();
      sinceMs = nowMs();
    }
    if (known.size < formsMax) known.add(parts.join());
    return known.has(parts.join());
  };
}
