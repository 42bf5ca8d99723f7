// The URL of a request: its path and query as checked parameters, and as the log shows it. Elysia's router only chooses the route: its
// own decoding and coercion lose locations, repeats and odd names.

import { Kind, type TObject, type TSchema } from '@sinclair/typebox';
import type { ValidationEntry } from '../core/errors.ts';
import { isStorableText } from '../core/json.ts';
import { PARAMETERS_MAX } from './limits.ts';
import { missing } from './mistakes.ts';
import { createValidator, unstorableText, type Validator } from './validation.ts';

/** `entries`: every mistake in the parameters. */
export type Parameters = {
  path: Record<string, unknown>;
  query: Record<string, unknown>;
  entries: readonly ValidationEntry[];
};

const NO_PARAMETERS: Parameters = { path: {}, query: {}, entries: [] };

/** What an operation takes in its URL. `lastTakesRest`: the last placeholder takes all that is left of a path. */
type Target = { path: string; parameters: TObject; query: TObject; lastTakesRest: boolean };

/** Returns a function that reads the parameters of a URL; undefined where its path is not that of the operation. */
export function createParameterParser(operation: Target) {
  const pattern = toUrlPattern(operation);
  const inPath = Object.entries<TSchema>(operation.parameters.properties).map(
    ([name, schema]) => [name, createValidator(schema)] as const,
  );
  const readQuery = createQueryReader(operation.query);
  return (url: string): Parameters | undefined => {
    const found = pattern.exec(url);
    if (found === null) return undefined;
    if (inPath.length === 0 && readQuery === undefined) return NO_PARAMETERS;
    const entries: ValidationEntry[] = [];
    const path: Record<string, unknown> = {};
    for (const [name, validate] of inPath) {
      const text = decode(found.groups?.[name] ?? '', ['path', name], entries);
      if (text !== undefined) path[name] = check(validate, text, ['path', name], entries);
    }
    return { path, query: readQuery?.(found.groups?.['query'] ?? '', entries) ?? {}, entries };
  };
}

/** Fits the URLs with the path of the operation, segment by segment, an outer slash behind it or not. */
function toUrlPattern({ path, lastTakesRest }: Target): RegExp {
  const segments = path
    .replace(/(?<=.)\/$/, '')
    .replaceAll('.', '\\.')
    .replace(lastTakesRest ? /\{(\w+)\}$/ : /$^/, '(?<$1>[^/?][^?]*?)')
    .replaceAll(/\{(\w+)\}/g, '(?<$1>[^/?]+)');
  return new RegExp(`^(?:[a-z]+://[^/]*)?${segments}${path === '/' ? '' : '/?'}(?:\\?(?<query>.*))?$`, 's');
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

type QueryParameter = {
  name: string;
  repeated: boolean;
  required: boolean;
  fallback: unknown;
  validate: Validator;
};

/** Undefined for a query that is not read. */
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
  if (names.size === 0 && !strict) return undefined;
  return (search: string, entries: ValidationEntry[]): Record<string, unknown> => {
    const given = search === '' ? undefined : parsePairs(search, { names, strict }, entries);
    const values: Record<string, unknown> = {};
    for (const { name, repeated, required, fallback, validate } of parameters) {
      const texts = given?.get(name);
      const loc = ['query', name];
      if (texts !== undefined) values[name] = check(validate, repeated ? texts : texts.at(-1), loc, entries);
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

function check(validate: Validator, sent: unknown, loc: string[], entries: ValidationEntry[]): unknown {
  const { value, entries: mistakes } = validate(sent, loc);
  if (mistakes.length > 0) entries.push(...mistakes);
  return value;
}
