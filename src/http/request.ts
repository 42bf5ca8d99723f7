// From the request's own URL to checked parameters. The router only chooses the operation: its own decoding
// and coercion are not used, because they lose locations, repeats and odd names.

import { Kind, type TObject, type TSchema } from '@sinclair/typebox';
import type { ValidationEntry } from '../core/errors.ts';
import { isStorableText } from '../core/json.ts';
import { PARAMETERS_MAX } from './limits.ts';
import { missing } from './mistakes.ts';
import type { Operation } from './routes.ts';
import { createValidator, unstorableText, type Validator } from './validation.ts';

export type Parameters = {
  path: Record<string, unknown>;
  query: Record<string, unknown>;
  entries: readonly ValidationEntry[];
};

const NO_PARAMETERS: Parameters = { path: {}, query: {}, entries: [] };

/** The parser of a URL: path and query parameters, with every mistake found in them. */
export type ParameterParser = (url: string) => Parameters;

export function createParameterParser(
  operation: Pick<Operation, 'path' | 'parameters' | 'query' | 'lastTakesRest'>,
): ParameterParser {
  const takesNone =
    Object.keys(operation.parameters.properties).length === 0 &&
    Object.keys(operation.query.properties).length === 0 &&
    operation.query.additionalProperties !== false;
  if (takesNone) return () => NO_PARAMETERS;
  const readPath = createPathReader(operation);
  const readQuery = createQueryReader(operation.query);
  return (url) => {
    const target = splitTarget(url);
    const entries: ValidationEntry[] = [];
    const path = readPath(target.path, entries);
    const query = readQuery(target.search, entries);
    return { path, query, entries };
  };
}

const SHOWN_PATH_MAX = 200;

/**
 * The path for the log: without the query, bounded, visible ASCII without quotes. A query that is appended with another
 * sign than `?` may hold a key, too: text after an equals sign is left out, and text that has the form of a key.
 */
export function showPath(url: string): string {
  const { path } = splitTarget(url);
  const shown = path.length <= SHOWN_PATH_MAX ? path : `${path.slice(0, SHOWN_PATH_MAX)}…`;
  return shown
    .replaceAll(/=[^/]*/g, '=…')
    .replaceAll(/atr_\w+/g, 'atr_…')
    .replaceAll(/[^\x21-\x7e…]|["\\]/gu, (sign) => encodeURIComponent(sign.toWellFormed()));
}

/** Path and query of a request's URL, which has no origin where the Host header is absent or malformed. */
export function splitTarget(url: string): { path: string; search: string } {
  const pathStart = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3);
  const queryStart = url.indexOf('?', pathStart);
  return {
    path: url.slice(pathStart, queryStart === -1 ? url.length : queryStart),
    search: queryStart === -1 ? '' : url.slice(queryStart + 1),
  };
}

function createPathReader(operation: Pick<Operation, 'path' | 'parameters' | 'lastTakesRest'>) {
  const placeholders = operation.path
    .split('/')
    .map((segment, position) => ({ name: /^\{(\w+)\}$/.exec(segment)?.[1], position }))
    .filter((segment): segment is { name: string; position: number } => segment.name !== undefined)
    .map(({ name, position }) => ({
      name,
      position,
      validate: createValidator(property(operation.parameters, name)),
    }));
  const last = operation.path.split('/').length - 1;
  return (path: string, entries: ValidationEntry[]): Record<string, unknown> => {
    const segments = path.split('/');
    const values: Record<string, unknown> = {};
    for (const { name, position, validate } of placeholders) {
      const loc = ['path', name];
      const takesRest = operation.lastTakesRest && position === last;
      const raw = takesRest ? segments.slice(position).join('/').replace(/\/$/, '') : segments[position];
      const text = decode(raw ?? '', loc, entries);
      if (text !== undefined) values[name] = collect(validate(text, loc), entries);
    }
    return values;
  };
}

type QueryParameter = {
  name: string;
  repeated: boolean;
  required: boolean;
  fallback: unknown;
  validate: Validator;
};

function createQueryReader(schema: TObject) {
  const parameters: QueryParameter[] = Object.entries(schema.properties).map(([name, property]) => {
    const validate = createValidator(property);
    return {
      name,
      repeated: property[Kind] === 'Array',
      required: schema.required?.includes(name) ?? false,
      fallback: fallbackOf(property, name, validate),
      validate,
    };
  });
  const names: ReadonlySet<string> = new Set(parameters.map(({ name }) => name));
  const strict = schema.additionalProperties === false;
  return (search: string, entries: ValidationEntry[]): Record<string, unknown> => {
    const given = search === '' ? undefined : parsePairs(search, { names, strict }, entries);
    const values: Record<string, unknown> = {};
    for (const { name, repeated, required, fallback, validate } of parameters) {
      const texts = given?.get(name);
      const loc = ['query', name];
      if (texts !== undefined)
        values[name] = collect(validate(repeated ? texts : texts.at(-1), loc), entries);
      else if (fallback !== undefined) values[name] = fallback;
      else if (required) entries.push(missing(loc, null));
    }
    return values;
  };
}

/** The value of an absent parameter: its default, as if it had been sent. */
function fallbackOf(schema: TSchema, name: string, validate: Validator): unknown {
  if (schema.default === undefined) return undefined;
  const { value, entries } = validate(schema.default, ['query', name]);
  if (entries.length > 0) throw new Error(`the default of ${name} is not one that could be sent`);
  return value;
}

/**
 * Every value of the parameters with these names, in order; `+` is a blank, as HTML forms write it. Other parameters
 * are ignored, or (strict) mistakes.
 */
function parsePairs(
  search: string,
  { names, strict }: { names: ReadonlySet<string>; strict: boolean },
  entries: ValidationEntry[],
): Map<string, string[]> {
  const pairs = new Map<string, string[]>();
  const fragment = search.indexOf('#');
  const texts = (fragment === -1 ? search : search.slice(0, fragment)).split('&', PARAMETERS_MAX + 1);
  if (texts.length > PARAMETERS_MAX) {
    entries.push(tooManyParameters());
    return pairs;
  }
  for (const pair of texts) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals), ['query'], strict ? entries : [], true);
    if (name === undefined) continue;
    if (!names.has(name)) {
      if (strict) entries.push(unknownParameter(name, pair.slice(name.length + 1)));
      continue;
    }
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1), ['query', name], entries, true);
    if (value === undefined) continue;
    const values = pairs.get(name);
    if (values === undefined) pairs.set(name, [value]);
    else values.push(value);
  }
  return pairs;
}

const tooManyParameters = (): ValidationEntry => ({
  type: 'too_long',
  loc: ['query'],
  msg: `A query may have at most ${PARAMETERS_MAX} parameters`,
  input: null,
  ctx: { max_length: PARAMETERS_MAX },
});

/** For operations in which a misspelt parameter without effect would do harm. */
const unknownParameter = (name: string, input: string): ValidationEntry => ({
  type: 'extra_forbidden',
  loc: ['query', name],
  msg: `Extra inputs are not permitted: '${name}' is not known here`,
  input,
});

function decode(
  raw: string,
  loc: (string | number)[],
  entries: ValidationEntry[],
  plusIsBlank = false,
): string | undefined {
  const spaced = plusIsBlank && raw.includes('+') ? raw.replaceAll('+', ' ') : raw;
  if (!spaced.includes('%')) return spaced;
  let text: string;
  try {
    text = decodeURIComponent(spaced);
  } catch {
    const msg = 'Input should be a valid string, unable to parse raw data as a unicode string';
    entries.push({ type: 'string_unicode', loc, msg, input: raw });
    return undefined;
  }
  if (isStorableText(text)) return text;
  entries.push(unstorableText(loc, text));
  return undefined;
}

function collect(
  outcome: { value: unknown; entries: readonly ValidationEntry[] },
  entries: ValidationEntry[],
): unknown {
  if (outcome.entries.length > 0) entries.push(...outcome.entries);
  return outcome.value;
}

function property(schema: TObject, name: string): TSchema {
  const found = schema.properties[name];
  if (found === undefined) throw new Error(`the path names {${name}}, its parameters do not`);
  return found;
}
