// The language of filters, and every way to get it wrong.
//
//   filter   = [ operator ":" ] [ key "->" ] value      the key only with dictionaries
//   operator = what the attribute allows; another word before the first ":" is part of the value
//   value    = one or more characters without ":"; dates may contain it
//   value    = item *( "," item )                       with in, not_in, any, not_any
//   value    = a boolean                                with is_empty, is_not_empty, is__not_empty

import { Type } from '@sinclair/typebox';
import { parseDateTime } from '../../core/date-time.ts';
import type { ParseOutcome } from '../../http/parsed.ts';
import { createValidator } from '../../http/validation.ts';
import type { Filter, Operand } from './ast.ts';
import { ATTRIBUTES, type Attribute, OPERATORS, type Operator } from './attributes.ts';

const LISTS: ReadonlySet<Operator> = new Set(['in', 'not_in', 'any', 'not_any']);
const TRUTHS: ReadonlySet<Operator> = new Set(['is_empty', 'is_not_empty', 'is__not_empty']);
const KNOWN: ReadonlySet<string> = new Set(OPERATORS);

/** One filter, or the problem with it; `loc` is its place in the request. */
export function parseFilter(
  attribute: Attribute,
  text: string,
  loc: (string | number)[],
): ParseOutcome<Filter> {
  const { operators, fallback } = ATTRIBUTES[attribute];
  const colon = text.indexOf(':');
  const word = text.slice(0, Math.max(0, colon));
  const operator = KNOWN.has(word) ? (word as Operator) : fallback;
  const written = KNOWN.has(word) ? text.slice(colon + 1) : text;
  const dated = attribute === 'created_at' && !TRUTHS.has(operator);
  const { key, value } = isDictionary(attribute) ? splitKey(written) : { key: undefined, value: written };
  if (!operators.includes(operator) || value === '' || (!dated && written.includes(':'))) {
    const pattern = patternOf(attribute);
    const msg = `String should match pattern '${pattern}'${hintFor(attribute, written)}`;
    return { mistake: { type: 'string_pattern_mismatch', loc, msg, input: text, ctx: { pattern } } };
  }
  const parsed = parseOperand(attribute, operator, value, loc);
  if ('mistake' in parsed) return parsed;
  return { value: { attribute, operator, ...(key === undefined ? {} : { key }), operand: parsed.value } };
}

const isDictionary = (attribute: Attribute): boolean => attribute === 'access' || attribute === 'slots';

function splitKey(text: string): { key: string | undefined; value: string } {
  const arrow = text.indexOf('->');
  return arrow === -1
    ? { key: undefined, value: text }
    : { key: text.slice(0, arrow), value: text.slice(arrow + 2) };
}

/** The form of the attribute's filters, as a regular expression for people to read. */
function patternOf(attribute: Attribute): string {
  const key = isDictionary(attribute) ? '([^:]*->)?' : '';
  const value = attribute === 'created_at' ? '.+' : '[^:]+';
  return `^((${ATTRIBUTES[attribute].operators.join('|')}):)?${key}${value}$`;
}

/** A location as an answer tells it is the likeliest value with a second colon. */
const hintFor = (attribute: Attribute, written: string): string =>
  attribute === 'storage_url' && written.includes(':')
    ? "; a value holds no colon: leave out the scheme 's3://'"
    : '';

const checkTruth = createValidator(Type.Boolean());
const checkSize = createValidator(Type.Integer());
const checkMoment = createValidator(Type.String({ format: 'date-time' }));

function parseOperand(
  attribute: Attribute,
  operator: Operator,
  text: string,
  loc: (string | number)[],
): ParseOutcome<Operand> {
  if (TRUTHS.has(operator))
    return checked(checkTruth(text, loc), (value) => ({ kind: 'truth', text, truth: value === true }));
  if (attribute === 'file_size')
    return checked(checkSize(text, loc), (value) => ({ kind: 'size', text, size: clamp(Number(value)) }));
  if (attribute === 'created_at') {
    const at = parseDateTime(withPlus(text)) ?? new Date(0);
    return checked(checkMoment(withPlus(text), loc), () => ({ kind: 'moment', text, at }), text);
  }
  if (LISTS.has(operator)) return { value: { kind: 'list', text, items: text.split(',') } };
  return { value: { kind: 'text', text } };
}

function checked(
  { value, entries }: ReturnType<typeof checkTruth>,
  toOperand: (value: unknown) => Operand,
  input?: string,
): ParseOutcome<Operand> {
  const [mistake] = entries;
  if (mistake === undefined) return { value: toOperand(value) };
  return { mistake: input === undefined ? mistake : { ...mistake, input } };
}

/** No file is larger, and every integer beyond compares with all of them in the same way. */
const clamp = (value: number): number =>
  Math.min(Math.max(value, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);

/** A blank between time and zone offset is a `+` that was not escaped in the query. */
const withPlus = (text: string): string => text.replace(/(:\d\d(?:[.,]\d+)?) (?=\d\d(?::?\d\d)?$)/, '$1+');
