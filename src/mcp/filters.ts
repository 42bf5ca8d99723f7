// The filter language of the search, as an argument of tools.

import { Type } from '@sinclair/typebox';
import { ValidationFailure } from '../core/errors.ts';
import { FILTER_LENGTH_MAX, FILTERS_MAX } from './limits.ts';

export const Filters = Type.Optional(
  Type.Array(Type.String({ minLength: 1, maxLength: FILTER_LENGTH_MAX }), {
    maxItems: FILTERS_MAX,
    description:
      'Conditions on the metadata that all hold, each written attribute=operator:value. Attributes: name, summary, file_type, status, ' +
      'owner_id, storage_url, file_hash (eq, neq, contains, not_contains, starts_with, ends_with, in, not_in); tags, categories (any, ' +
      'not_any); slots, access (as text, with key->value); created_at, file_size (eq, neq, gt, lt, gte, lte); id (eq, neq, in, not_in). ' +
      'in, not_in, any and not_any take values divided by commas. is_empty:true asks for a missing value. A value holds no colon, ' +
      'but for times. Examples: file_type=eq:pdf, tags=any:contract,offer, created_at=gte:2026-01-31, slots=eq:project->Apollo.',
  }),
);

const ATTRIBUTES = new Set(
  'name owner_id storage_url file_hash file_type status summary access slots tags categories created_at file_size id'.split(
    ' ',
  ),
);

/** Filters by attribute, as the query of the search has them. Throws ValidationFailure for what is no filter. */
export function parseFilters(filters: readonly string[] = []): Record<string, string[]> {
  const parsed = filters.map((filter, index) => {
    const equals = filter.indexOf('=');
    const attribute = filter.slice(0, Math.max(0, equals)).trim();
    if (!ATTRIBUTES.has(attribute)) throw noFilter(filter, index);
    return { attribute, value: filter.slice(equals + 1) };
  });
  const byAttribute = Map.groupBy(parsed, ({ attribute }) => attribute);
  return Object.fromEntries(
    [...byAttribute].map(([attribute, group]) => [attribute, group.map(({ value }) => value)]),
  );
}

const noFilter = (filter: string, index: number): ValidationFailure =>
  new ValidationFailure([
    {
      type: 'value_error',
      loc: ['filters', index],
      msg: `A filter is written attribute=operator:value, with one of the attributes ${[...ATTRIBUTES].join(', ')}`,
      input: filter,
    },
  ]);
