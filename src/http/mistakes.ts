// Schemas → the 422 entries of FastAPI / pydantic v2 (their messages are the reference, see the README).
// Only a value that fails the compiled check of its schema is walked here, field by field, so that one answer lists
// every mistake. The walk also coerces as pydantic's lax mode does ("12" for an integer).

import { FormatRegistry, Kind, type TObject, type TSchema } from '@sinclair/typebox';
import { parseDateTime } from '../core/date-time.ts';
import { isEmail } from '../core/email.ts';
import type { ValidationEntry } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { isRawNumber } from '../core/json.ts';
import { MISTAKES_MAX } from './limits.ts';
import { parseWith } from './parsed.ts';

export type Location = (string | number)[];
type Outcome = { value: unknown };
/** `entries` is empty when the value is good, and at most MISTAKES_MAX long. */
export type Checked = { value: unknown; entries: readonly ValidationEntry[] };
type Report = (entry: ValidationEntry) => undefined;

/** Checks one value; returns it (coerced where a text stands for a number or a boolean) and reports mistakes. */
type Rule = (schema: TSchema, input: unknown, loc: Location, report: Report) => Outcome | undefined;

/**
 * The mistakes of a value that the compiled check of its schema refuses, at most MISTAKES_MAX. There are none where it only had to be
 * coerced.
 */
export function findMistakes(schema: TSchema, input: unknown, loc: Location): Checked {
  const entries: ValidationEntry[] = [];
  const outcome = checkValue(schema, input, loc, (entry) => {
    if (entries.length < MISTAKES_MAX) entries.push(entry);
    return undefined;
  });
  return { value: outcome?.value, entries };
}

export const missing = (loc: Location, input: unknown): ValidationEntry => ({
  type: 'missing',
  loc,
  msg: 'Field required',
  input,
});

/** The formats of strings in schemas, and pydantic's messages for a text of another form. */
const FORMATS = {
  uuid: {
    holds: isUuid,
    mistake: () => {
      const error = 'expected 36 characters: 32 hexadecimal digits in groups of 8-4-4-4-12';
      return { type: 'uuid_parsing', msg: `Input should be a valid UUID, ${error}`, ctx: { error } };
    },
  },
  email: {
    holds: isEmail,
    mistake: (text: string) => {
      const reason = text.includes('@')
        ? 'The e-mail address is not of the form name@domain.'
        : 'An email address must have an @-sign.';
      return { type: 'value_error', msg: `value is not a valid email address: ${reason}`, ctx: { reason } };
    },
  },
  'date-time': {
    holds: (text: string) => parseDateTime(text) !== undefined,
    mistake: () => {
      const error = 'expected an ISO 8601 date and time';
      return { type: 'datetime_parsing', msg: `Input should be a valid datetime, ${error}`, ctx: { error } };
    },
  },
};

// Compiled checks refuse every format that is not registered.
for (const [name, { holds }] of Object.entries(FORMATS)) FormatRegistry.Set(name, holds);

/** The mistake of a text that does not have the format; undefined where it has. */
function findFormatMistake(format: string, text: string) {
  if (!(format in FORMATS)) throw new Error(`no rule for the format ${format}`);
  const { holds, mistake } = FORMATS[format as keyof typeof FORMATS];
  return holds(text) ? undefined : mistake(text);
}

const checkString: Rule = (schema, input, loc, report) => {
  if (typeof input !== 'string')
    return report({ type: 'string_type', loc, msg: 'Input should be a valid string', input });
  const { minLength, maxLength, pattern, format } = schema as TSchema & Record<string, unknown>;
  const length = minLength === undefined && maxLength === undefined ? 0 : countCharacters(input);
  const size = (verb: string, count: number) =>
    `String should have at ${verb} ${count} character${count === 1 ? '' : 's'}`;
  if (typeof minLength === 'number' && length < minLength) {
    const msg = size('least', minLength);
    return report({ type: 'string_too_short', loc, msg, input, ctx: { min_length: minLength } });
  }
  if (typeof maxLength === 'number' && length > maxLength) {
    const msg = size('most', maxLength);
    return report({ type: 'string_too_long', loc, msg, input, ctx: { max_length: maxLength } });
  }
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(input)) {
    const msg = `String should match pattern '${pattern}'`;
    return report({ type: 'string_pattern_mismatch', loc, msg, input, ctx: { pattern } });
  }
  const mistake = typeof format === 'string' ? findFormatMistake(format, input) : undefined;
  if (mistake === undefined) return { value: input };
  return report({ type: mistake.type, loc, msg: mistake.msg, input, ctx: mistake.ctx });
};

/** Unicode characters, as pydantic counts them: a surrogate pair is one. */
export function countCharacters(text: string, end = text.length): number {
  let count = 0;
  for (let index = 0; index < end; index++) {
    const code = text.charCodeAt(index);
    if (code < 0xdc00 || code > 0xdfff) count++;
  }
  return count;
}

const INTEGER_TEXT = /^\s*[+-]?\d+(?:\.0*)?\s*$/;

/** A number that was kept as text, as the double that it is nearest to. */
const toDouble = (sent: unknown): unknown => (isRawNumber(sent) ? Number(sent.rawJSON) : sent);

const checkInteger: Rule = (schema, sent, loc, report) => {
  const input = toDouble(sent);
  const wrong = (type: string, msg: string) => report({ type, loc, msg, input });
  if (typeof input === 'string' && !INTEGER_TEXT.test(input))
    return wrong('int_parsing', 'Input should be a valid integer, unable to parse string as an integer');
  if (typeof input !== 'string' && typeof input !== 'number')
    return wrong('int_type', 'Input should be a valid integer');
  if (typeof input === 'number' && !Number.isInteger(input))
    return wrong('int_from_float', 'Input should be a valid integer, got a number with a fractional part');
  return checkBounds(schema, input, loc, report);
};

const checkNumber: Rule = (schema, sent, loc, report) => {
  const input = toDouble(sent);
  if (typeof input !== 'number' && typeof input !== 'string')
    return report({ type: 'float_type', loc, msg: 'Input should be a valid number', input });
  if (Number.isFinite(Number(input)) && !(typeof input === 'string' && input.trim() === ''))
    return checkBounds(schema, input, loc, report);
  const msg = 'Input should be a valid number, unable to parse string as a number';
  return report({ type: 'float_parsing', loc, msg, input });
};

/** A number, or the text of one, between the bounds of its schema. */
function checkBounds(schema: TSchema, input: number | string, loc: Location, report: Report) {
  const { exclusiveMinimum, minimum, maximum } = schema as TSchema & Record<string, unknown>;
  const value = Number(input);
  const wrong = (type: string, condition: string, ctx: Record<string, unknown>) =>
    report({ type, loc, msg: `Input should be ${condition}`, input, ctx });
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    return wrong('greater_than', `greater than ${exclusiveMinimum}`, { gt: exclusiveMinimum });
  if (typeof minimum === 'number' && value < minimum)
    return wrong('greater_than_equal', `greater than or equal to ${minimum}`, { ge: minimum });
  if (typeof maximum === 'number' && value > maximum)
    return wrong('less_than_equal', `less than or equal to ${maximum}`, { le: maximum });
  return { value };
}

const TRUE_TEXT = new Set(['true', '1', 'yes', 'y', 'on', 't']);
const FALSE_TEXT = new Set(['false', '0', 'no', 'n', 'off', 'f']);

const checkBoolean: Rule = (_schema, input, loc, report) => {
  if (typeof input === 'boolean') return { value: input };
  if (typeof input === 'string' || input === 0 || input === 1) {
    const text = String(input).toLowerCase();
    if (TRUE_TEXT.has(text)) return { value: true };
    if (FALSE_TEXT.has(text)) return { value: false };
    const msg = 'Input should be a valid boolean, unable to interpret input';
    return report({ type: 'bool_parsing', loc, msg, input });
  }
  return report({ type: 'bool_type', loc, msg: 'Input should be a valid boolean', input });
};

const checkArray: Rule = (schema, input, loc, report) => {
  if (!Array.isArray(input))
    return report({ type: 'list_type', loc, msg: 'Input should be a valid list', input });
  const { minItems, maxItems } = schema as TSchema & Record<string, unknown>;
  const size = (verb: string, count: number) =>
    `List should have at ${verb} ${count} item${count === 1 ? '' : 's'} after validation, not ${input.length}`;
  if (typeof minItems === 'number' && input.length < minItems) {
    const ctx = { field_type: 'List', min_length: minItems, actual_length: input.length };
    return report({ type: 'too_short', loc, msg: size('least', minItems), input, ctx });
  }
  if (typeof maxItems === 'number' && input.length > maxItems) {
    const ctx = { field_type: 'List', max_length: maxItems, actual_length: input.length };
    return report({ type: 'too_long', loc, msg: size('most', maxItems), input, ctx });
  }
  const outcomes = input.map((item, index) => checkValue(schema['items'], item, [...loc, index], report));
  return { value: outcomes.map((outcome) => outcome?.value) };
};

const isPlainObject = (input: unknown): input is Record<string, unknown> =>
  typeof input === 'object' && input !== null && !Array.isArray(input) && !isRawNumber(input);

/** An object with named fields, or (`dictionary: true`) a free-form one with known keys. */
const checkObject: Rule = (schema, input, loc, report) => {
  if (!isPlainObject(input)) {
    if (schema['dictionary'] === true) return notADictionary(input, loc, report);
    const msg = 'Input should be a valid dictionary or object to extract fields from';
    return report({ type: 'model_attributes_type', loc, msg, input });
  }
  const value: Record<string, unknown> = { ...input };
  const required = (schema as TObject).required ?? [];
  for (const [name, property] of Object.entries((schema as TObject).properties)) {
    if (Object.hasOwn(input, name)) {
      value[name] = checkValue(property, input[name], [...loc, name], report)?.value;
    } else if (required.includes(name)) report(missing([...loc, name], input));
  }
  if (schema['additionalProperties'] === false) {
    const { properties } = schema as TObject;
    for (const name of Object.keys(input).filter((each) => !Object.hasOwn(properties, each)))
      report({ ...EXTRA, loc: [...loc, name], input: input[name] });
  }
  return { value };
};

const EXTRA = { type: 'extra_forbidden', msg: 'Extra inputs are not permitted' };

const notADictionary = (input: unknown, loc: Location, report: Report): undefined =>
  report({ type: 'dict_type', loc, msg: 'Input should be a valid dictionary', input });

const checkRecord: Rule = (_schema, input, loc, report) =>
  isPlainObject(input) ? { value: input } : notADictionary(input, loc, report);

/** A union: nullable (`X | null`), an enumeration of literal strings, or one value or a list (`X | X[]`). */
const checkUnion: Rule = (schema, input, loc, report) => {
  const members = (schema['anyOf'] as TSchema[]).filter((member) => member[Kind] !== 'Null');
  if (members.length < (schema['anyOf'] as TSchema[]).length && input === null) return { value: null };
  const first = members.find((member) => member[Kind] === 'Array' && Array.isArray(input)) ?? members[0];
  if (first !== undefined && first[Kind] !== 'Literal') return checkValue(first, input, loc, report);
  const literals = members.map((member) => member['const'] as string);
  if (typeof input === 'string' && literals.includes(input)) return { value: input };
  const expected = listed(literals.map((literal) => `'${literal}'`));
  return report({ type: 'enum', loc, msg: `Input should be ${expected}`, input, ctx: { expected } });
};

/** `'a', 'b' or 'c'`, as pydantic writes choices. */
const listed = (items: string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`;

const checkParsed: Rule = (schema, input, loc, report) => {
  const outcome = parseWith(schema, input, loc);
  return 'mistake' in outcome ? report(outcome.mistake) : outcome;
};

const RULES: Record<string, Rule> = {
  String: checkString,
  Integer: checkInteger,
  Number: checkNumber,
  Boolean: checkBoolean,
  Array: checkArray,
  Object: checkObject,
  Record: checkRecord,
  Union: checkUnion,
  Literal: (schema, input, loc, report) => checkUnion({ ...schema, anyOf: [schema] }, input, loc, report),
  Parsed: checkParsed,
  Unknown: (_schema, input) => ({ value: input }),
};

function checkValue(schema: TSchema, input: unknown, loc: Location, report: Report): Outcome | undefined {
  const rule = RULES[schema[Kind] as string];
  if (rule === undefined) throw new Error(`no rule for a schema of kind ${String(schema[Kind])}`);
  return rule(schema, input, loc, report);
}
