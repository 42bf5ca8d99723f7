// Parameters with their own grammar, which the operation receives parsed.

import { Kind, type TSchema, type TUnsafe, Type, TypeRegistry } from '@sinclair/typebox';
import { parseDateTime } from '../core/date-time.ts';
import { type ValidationEntry, ValidationFailure } from '../core/errors.ts';

const PARSED = 'Parsed';

/** The value of a text, or the mistake in it. */
export type ParseOutcome<T> = { value: T } | { mistake: ValidationEntry };

type Parse<T> = (text: string, loc: (string | number)[]) => ParseOutcome<T>;

/** A string of the request that `parse` converts into a value; its mistakes stand among the others of the answer. */
export const Parsed = <T>(parse: Parse<T>, options: { description?: string } = {}): TUnsafe<T> =>
  Type.Unsafe<T>({ ...options, [Kind]: PARSED, type: 'string', parse });

// The compiled check always fails, so that the walk of the value parses it.
TypeRegistry.Set(PARSED, () => false);

export const parseWith = (schema: TSchema, input: unknown, loc: (string | number)[]): ParseOutcome<unknown> =>
  (schema['parse'] as Parse<unknown>)(String(input), loc);

/** Milliseconds since 1970; undefined for an absent or blank parameter. Throws ValidationFailure for any other text. */
export function readTime(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const at = parseDateTime(text.trim());
  if (at !== undefined) return at.getTime();
  const error = 'not a date or time';
  throw new ValidationFailure([
    {
      type: 'datetime_parsing',
      loc: ['query', name],
      input: text,
      ctx: { error },
      msg: `Input should be a valid datetime, ${error}`,
    },
  ]);
}
