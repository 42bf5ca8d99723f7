// The filter of a retrieval: the parameters of search as members of an object, each a text or a list of texts.

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { ValidationFailure } from '../../core/errors.ts';
import { oneOf } from '../../http/schemas.ts';
import { ATTRIBUTES, type Attribute } from '../filter/attributes.ts';
import { parseFilter } from '../filter/grammar.ts';
import { toPredicate } from '../filter/predicate.ts';
import { FILTERS_MAX } from '../limits.ts';
import type { ArchivedChoice } from '../search/query.ts';
import type { RetrieveFilter } from './retrieve.ts';

const OneOrMore = Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]));
const attributes = Object.keys(ATTRIBUTES) as Attribute[];
const members = Object.fromEntries(attributes.map((attribute) => [attribute, OneOrMore])) as Record<
  Attribute,
  typeof OneOrMore
>;

export const FilterObject = Type.Object(
  {
    ...members,
    archived: Type.Optional(
      oneOf(['false', 'true', 'any'], {
        default: 'false',
        description: '`false`: nothing of archived documents; `true`: only of them; `any`: of both.',
      }),
    ),
  } satisfies Record<string, TSchema>,
  {
    // A misspelt filter must not find everything.
    additionalProperties: false,
    description:
      'Conditions on the documents, all of which hold: the filter parameters of `GET /v1/filter/{workspace_id}`, each a text ' +
      '`operator:value` or a list of such texts.',
  },
);
export type FilterObject = Static<typeof FilterObject>;

const ARCHIVED: Record<'false' | 'true' | 'any', ArchivedChoice> = {
  false: 'without',
  true: 'only',
  any: 'any',
};

/** The filters of the object, parsed; `loc` says where it stands. Throws ValidationFailure with every mistake. */
export function parseFilters({ archived = 'false', ...given }: FilterObject, loc: string[]): RetrieveFilter {
  const texts = attributes.flatMap((attribute) => {
    const value = given[attribute] ?? [];
    return typeof value === 'string'
      ? [{ attribute, text: value, loc: [...loc, attribute] }]
      : value.map((text, index) => ({ attribute, text, loc: [...loc, attribute, index] }));
  });
  if (texts.length > FILTERS_MAX) throw tooMany(texts.length, loc);
  const outcomes = texts.map(({ attribute, text, loc: at }) => parseFilter(attribute, text, at));
  const mistakes = outcomes.flatMap((outcome) => ('mistake' in outcome ? [outcome.mistake] : []));
  if (mistakes.length > 0) throw new ValidationFailure(mistakes);
  const filters = outcomes.flatMap((outcome) => ('value' in outcome ? [outcome.value] : []));
  return { predicates: filters.map(toPredicate), archived: ARCHIVED[archived] };
}

const tooMany = (count: number, loc: string[]): ValidationFailure =>
  new ValidationFailure([
    {
      type: 'too_long',
      loc,
      msg: `A search may have at most ${FILTERS_MAX} filters, not ${count}`,
      input: null,
      ctx: { max_length: FILTERS_MAX, actual_length: count },
    },
  ]);
