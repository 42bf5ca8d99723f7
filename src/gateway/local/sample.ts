// A small value that satisfies a JSON Schema as SDKs write it, for wiring tests.

import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';

const DEPTH_MAX = 32;
/** Of the sample, in characters: references can make that of a small schema endless. */
const SIZE_MAX = 65_536;
const LENGTH_MAX = 256;

/** Rules that a made-up value might break. */
const UNKNOWN = [
  'pattern',
  'oneOf',
  'not',
  'if',
  'multipleOf',
  'contains',
  'uniqueItems',
  'patternProperties',
];
const FORMATS: Record<string, string> = {
  'date-time': '1970-01-01T00:00:00Z',
  date: '1970-01-01',
  time: '00:00:00Z',
  email: 'echo@example.com',
  uuid: '00000000-0000-4000-8000-000000000000',
  uri: 'https://example.com/',
};

class NoSample extends Error {}

/** `text` stands where the schema wants any text. Throws 400 for a schema with other rules, naming `param`. */
export function sampleOf(root: unknown, text: string, param: string): Json {
  let size = 0;
  const spend = (characters: number): void => {
    size += characters;
    if (!(size <= SIZE_MAX)) throw new NoSample('asks for too much');
  };
  const take = (value: Json): Json => {
    spend(JSON.stringify(value).length);
    return value;
  };
  const make = (schema: unknown, depth: number): Json => {
    spend(depth > DEPTH_MAX ? SIZE_MAX : 1);
    if (schema === undefined || schema === true) return take(text.slice(0, LENGTH_MAX));
    if (!isObject(schema)) throw new NoSample('holds something that is no schema');
    const unknown = UNKNOWN.find((name) => schema[name] !== undefined && schema[name] !== false);
    if (unknown !== undefined) throw new NoSample(`uses '${unknown}'`);
    const { const: only, enum: values, $ref, anyOf, allOf, type } = schema;
    if (only !== undefined) return take(only);
    if (Array.isArray(values)) return take(values[0] ?? null);
    if ($ref !== undefined) return make(resolve(root, $ref), depth + 1);
    if (Array.isArray(anyOf)) return firstOf(anyOf, (branch) => make(branch, depth + 1));
    if (Array.isArray(allOf) && allOf.length === 1) return make(allOf[0], depth + 1);
    const kind = [type ?? (isObject(schema['properties']) ? 'object' : 'string')].flat()[0];
    if (kind === 'null') return null;
    if (kind === 'boolean') return true;
    if (kind === 'integer' || kind === 'number') return makeNumber(schema);
    if (kind === 'string') return take(makeText(schema, text));
    if (kind === 'array') {
      const length = Number(schema['minItems'] ?? 0);
      spend(length);
      return Array.from({ length }, () => make(schema['items'], depth + 1));
    }
    if (kind !== 'object') throw new NoSample('names a type that there is not');
    const { required = [], properties = {}, additionalProperties } = schema;
    // Only required members are made, so that recursive schemas end.
    const made = (required as string[]).map((name): [string, Json] => {
      const property = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
      return [name, make(property ?? additionalProperties, depth + 1)];
    });
    return Object.fromEntries(made);
  };
  try {
    return make(root, 0);
  } catch (error) {
    const reason = error instanceof NoSample ? error.message : 'is not understood';
    throw new OpenAiRefusal(
      'malformed',
      `local-echo can make no value for '${param}': the schema ${reason}`,
      {
        param,
        code: 'unsupported_parameter',
      },
    );
  }
}

function makeNumber({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonObject): number {
  if (typeof minimum === 'number') return Math.ceil(minimum);
  if (typeof exclusiveMinimum === 'number') return Math.floor(exclusiveMinimum) + 1;
  if (typeof maximum === 'number') return Math.min(0, Math.floor(maximum));
  return typeof exclusiveMaximum === 'number' ? Math.min(0, Math.ceil(exclusiveMaximum) - 1) : 0;
}

function makeText({ format, minLength = 0, maxLength = LENGTH_MAX }: JsonObject, text: string): string {
  const known = typeof format === 'string' ? FORMATS[format] : undefined;
  if (format !== undefined && known === undefined) throw new NoSample(`uses the format '${format}'`);
  const least = Number(minLength);
  if (!(least <= LENGTH_MAX)) throw new NoSample('asks for too much');
  return known ?? [...text.slice(0, LENGTH_MAX)].slice(0, Number(maxLength)).join('').padEnd(least, '.');
}

/** A part of the same document (RFC 6901). */
function resolve(root: unknown, reference: Json): Json {
  if (!String(reference).startsWith('#')) throw new NoSample("has a '$ref' that does not begin with #");
  let found: unknown = root;
  for (const part of String(reference).split('/').slice(1))
    found = isObject(found) ? found[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  if (found === undefined) throw new NoSample("has a '$ref' to something that is not there");
  return found as Json;
}

/** The sample of the first branch that has one. */
function firstOf(branches: readonly Json[], make: (branch: Json) => Json): Json {
  for (const branch of branches) {
    try {
      return make(branch);
    } catch (error) {
      if (!(error instanceof NoSample)) throw error;
    }
  }
  throw new NoSample("has an 'anyOf' without a branch that is understood");
}
