// Query parameters that are points in time.

import { parseDateTime } from '../core/date-time.ts';
import { ValidationFailure } from '../core/errors.ts';

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
