// The formats of strings in schemas, and pydantic's messages for a text of another form.

import { FormatRegistry } from '@sinclair/typebox';
import { parseDateTime } from '../core/date-time.ts';
import { isEmail } from '../core/email.ts';
import type { ValidationEntry } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';

type Mistake = Pick<ValidationEntry, 'type' | 'msg'> & { ctx: Record<string, unknown> };
type Format = { holds(text: string): boolean; mistake(text: string): Mistake };

const FORMATS: Record<string, Format> = {
  uuid: {
    holds: isUuid,
    mistake: () => {
      const error = 'expected 36 characters: 32 hexadecimal digits in groups of 8-4-4-4-12';
      return { type: 'uuid_parsing', msg: `Input should be a valid UUID, ${error}`, ctx: { error } };
    },
  },
  email: {
    holds: isEmail,
    mistake: (text) => {
      const reason = text.includes('@')
        ? 'The e-mail address is not of the form name@domain.'
        : 'An email address must have an @-sign.';
      return { type: 'value_error', msg: `value is not a valid email address: ${reason}`, ctx: { reason } };
    },
  },
  'date-time': {
    holds: (text) => parseDateTime(text) !== undefined,
    mistake: () => {
      const error = 'expected an ISO 8601 date and time';
      return { type: 'datetime_parsing', msg: `Input should be a valid datetime, ${error}`, ctx: { error } };
    },
  },
};

// Compiled checks refuse every format that is not registered.
for (const [name, { holds }] of Object.entries(FORMATS)) FormatRegistry.Set(name, holds);

/** The mistake of a text that does not have the format; undefined where it has. */
export function findFormatMistake(format: string, text: string): Mistake | undefined {
  const known = FORMATS[format];
  if (known === undefined) throw new Error(`no rule for the format ${format}`);
  return known.holds(text) ? undefined : known.mistake(text);
}
