// The filters of OpenAI's vector store search, as filters of Area A. Keys are the attributes of documents; any other key is one
// of `slots`. What Area A cannot ask is refused.

import { clampTime, parseDateTime } from '../../core/date-time.ts';
import { isRawNumber } from '../../core/json.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { Filter } from '../filter/ast.ts';
import { ATTRIBUTES, type Attribute, type Operator } from '../filter/attributes.ts';
import { toPredicate } from '../filter/predicate.ts';
import { FILTERS_MAX } from '../limits.ts';
import { ALTERNATIVES_MAX, FILTER_DEPTH_MAX, VALUES_MAX } from './limits.ts';
import type { RetrieveFilter } from './retrieve.ts';

type Scalar = string | number | boolean;

/** Alternatives, one of which holds: of its filters, all hold. */
type Alternatives = Filter[][];

/** Throws a refusal in OpenAI's shape, with 400. */
export function parseOpenAiFilters(input: unknown): RetrieveFilter {
  const anyOf = toAlternatives(input, 'filters', 1).map((filters) => filters.map(toPredicate));
  return { predicates: [], anyOf, archived: 'without' };
}

const refuse = (param: string, sentence: string): never => {
  throw new OpenAiRefusal('malformed', sentence, { param, code: 'invalid_value' });
};

const isObject = (input: unknown): input is Record<string, unknown> =>
  typeof input === 'object' && input !== null && !Array.isArray(input);

function toAlternatives(input: unknown, param: string, depth: number): Alternatives {
  if (!isObject(input)) return refuse(param, `${param} must be an object with a \`type\``);
  const { type, filters } = input;
  if (type !== 'and' && type !== 'or')
    return atMost(
      comparison(input, param).map((filter) => [filter]),
      param,
    );
  if (depth > FILTER_DEPTH_MAX)
    return refuse(param, `Filters may be nested ${FILTER_DEPTH_MAX} deep at most`);
  if (!Array.isArray(filters) || filters.length === 0)
    return refuse(`${param}.filters`, `${param}.filters must be a list that is not empty`);
  let found: Alternatives = type === 'and' ? [[]] : [];
  for (const [index, each] of filters.entries()) {
    const part = toAlternatives(each, `${param}.filters.${index}`, depth + 1);
    const joined =
      type === 'or' ? [...found, ...part] : found.flatMap((one) => part.map((other) => [...one, ...other]));
    found = atMost(joined, param);
  }
  return found;
}

const atMost = (found: Alternatives, param: string): Alternatives =>
  found.length > ALTERNATIVES_MAX || found.flat().length > FILTERS_MAX
    ? refuse(
        param,
        `Filters may come to ${ALTERNATIVES_MAX} alternatives at most, and to ${FILTERS_MAX} comparisons in all of them`,
      )
    : found;

const EQUALITIES: Record<string, { operator: Operator; list: boolean }> = {
  eq: { operator: 'in', list: false },
  ne: { operator: 'not_in', list: false },
  in: { operator: 'in', list: true },
  nin: { operator: 'not_in', list: true },
};
const COMPARISONS: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte']);

/** Alternatives of one filter each. */
function comparison(input: Record<string, unknown>, param: string): Filter[] {
  const { type, key, value } = input;
  const equality = typeof type === 'string' && Object.hasOwn(EQUALITIES, type) ? EQUALITIES[type] : undefined;
  if (equality === undefined && !COMPARISONS.has(String(type)))
    return refuse(`${param}.type`, `${param}.type must be one of and, or, eq, ne, gt, gte, lt, lte, in, nin`);
  if (typeof key !== 'string' || key === '') return refuse(`${param}.key`, `${param}.key must be a name`);
  const given = equality?.list ? value : [value];
  const values = Array.isArray(given) ? given.map(toScalar) : undefined;
  if (values === undefined || values.length === 0 || values.length > VALUES_MAX || !values.every(isScalar))
    return refuse(`${param}.value`, `${param}.value must be ${equality?.list ? LIST : SCALAR}`);
  const attribute = Object.hasOwn(ATTRIBUTES, key) ? (key as Attribute) : undefined;
  if (attribute === 'created_at' || attribute === 'file_size')
    return compared(attribute, String(type), values, param);
  if (equality === undefined)
    return refuse(`${param}.type`, `\`${type}\` compares created_at and file_size alone, not \`${key}\``);
  return [oneOf(attribute, key, equality.operator, values.map(String))];
}

const SCALAR = 'a text, a number or a boolean';
const LIST = `a list of 1 to ${VALUES_MAX} texts, numbers or booleans`;

/** Numbers with more digits than a double has are compared by their digits. */
const toScalar = (value: unknown): unknown => (isRawNumber(value) ? value.rawJSON : value);

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);

function oneOf(attribute: Attribute | undefined, key: string, operator: Operator, values: string[]): Filter {
  const items = attribute === 'storage_url' ? values.map((value) => value.replace(/^s3:\/\//i, '')) : values;
  const operand = { kind: 'list' as const, text: items.join(), items };
  if (attribute === 'tags' || attribute === 'categories')
    return { attribute, operator: operator === 'in' ? 'any' : 'not_any', operand };
  return attribute === undefined || attribute === 'slots' || attribute === 'access'
    ? { attribute: 'slots', key, operator, operand }
    : { attribute, operator, operand };
}

/** Moments and sizes: `in` is an alternative for each value, `nin` is not asked. */
function compared(
  attribute: 'created_at' | 'file_size',
  type: string,
  values: readonly Scalar[],
  param: string,
): Filter[] {
  if (type === 'nin') return refuse(`${param}.type`, `\`nin\` does not compare \`${attribute}\``);
  const operator = (type === 'in' ? 'eq' : type === 'ne' ? 'neq' : type) as Operator;
  return values.map((value) => {
    const text = String(value);
    if (attribute === 'file_size') {
      const size = Number(value);
      if (typeof value === 'boolean' || text.trim() === '' || !Number.isSafeInteger(size))
        return refuse(`${param}.value`, `${param}.value must be a whole number of bytes`);
      return { attribute, operator, operand: { kind: 'size', text, size } };
    }
    // OpenAI's moments are seconds since 1970.
    const at = typeof value === 'number' ? new Date(value * 1000) : parseDateTime(text);
    if (at === undefined || at.getTime() !== clampTime(at.getTime()))
      return refuse(`${param}.value`, `${param}.value must be a date-time, or seconds since 1970`);
    return { attribute, operator, operand: { kind: 'moment', text, at } };
  });
}
