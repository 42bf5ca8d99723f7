// The simplest value that satisfies a JSON Schema. A schema with a keyword that is not understood has no sample, so that no answer
// violates its schema.

import { isObject, isRawNumber, type Json, type JsonObject } from '../../core/json.ts';
import { ECHO_SAMPLE_UNITS_MAX } from '../limits.ts';

/** Why a schema has no sample, as the rest of a sentence. */
export class NoSample extends Error {}

const DEPTH_MAX = 32;
const words = (text: string): readonly string[] => text.split(' ');

/** Keywords that change no value. */
const ANNOTATIONS = words(
  'title description default examples deprecated readOnly writeOnly nullable definitions $schema $id $comment $defs',
);
const RANGE = words('type minimum maximum exclusiveMinimum exclusiveMaximum');
const KEYWORDS: Record<string, readonly string[]> = {
  const: words('const type'),
  enum: words('enum type'),
  $ref: words('$ref'),
  anyOf: words('anyOf'),
  allOf: words('allOf'),
  object: words('type properties required additionalProperties'),
  array: words('type items minItems maxItems uniqueItems'),
  string: words('type minLength maxLength format'),
  number: RANGE,
  integer: RANGE,
  boolean: words('type'),
  null: words('type'),
};

const FORMATS: Record<string, string> = {
  'date-time': '1970-01-01T00:00:00Z',
  date: '1970-01-01',
  time: '00:00:00Z',
  email: 'echo@example.com',
  uuid: '00000000-0000-4000-8000-000000000000',
  uri: 'https://example.com/',
  hostname: 'example.com',
  ipv4: '127.0.0.1',
};

/** Throws NoSample. `text` stands where the schema wants any text. */
export function sampleOf(root: Json | undefined, text: string): Json {
  let left = ECHO_SAMPLE_UNITS_MAX;
  /** References can make the sample of a small schema endless. */
  const spend = (units: number): void => {
    left -= units + 1;
    if (left < 0) throw new NoSample('asks for too much');
  };
  const choose = (schema: JsonObject, values: readonly Json[]): Json => {
    const { type } = schema;
    const types = type === undefined ? undefined : [type].flat();
    spend(values.length * (types?.length ?? 0));
    const value = values.find((each) => types?.some((name) => isOfType(each, name)) ?? true);
    if (value === undefined) throw new NoSample('has no value of its type');
    spend(JSON.stringify(value).length);
    return value;
  };
  const make = (given: Json | undefined, depth: number): Json => {
    spend(0);
    if (depth > DEPTH_MAX) throw new NoSample('is nested too deeply');
    const schema = given === undefined || given === true ? {} : given;
    if (!isObject(schema)) throw new NoSample('holds something that is no schema');
    const kind = kindOf(schema);
    const unknown = Object.keys(schema).find(
      (name) => !ANNOTATIONS.includes(name) && !KEYWORDS[kind]?.includes(name),
    );
    if (unknown !== undefined)
      throw new NoSample(`uses '${unknown.slice(0, 50)}', which local-echo does not understand there`);
    switch (kind) {
      case 'const':
        return choose(schema, [schema['const'] as Json]);
      case 'enum':
        return choose(schema, list(schema, 'enum'));
      case '$ref':
        spend(String(schema['$ref']).length);
        return make(resolve(root, schema['$ref']), depth + 1);
      case 'anyOf':
        return firstOf(list(schema, 'anyOf'), (branch) => make(branch, depth + 1));
      case 'allOf':
        if (list(schema, 'allOf').length !== 1) throw new NoSample("has an 'allOf' of several schemas");
        return make(list(schema, 'allOf')[0], depth + 1);
      case 'object':
        return makeObject(schema, depth);
      case 'array':
        return makeArray(schema, depth);
      case 'string':
        return makeText(schema);
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return makeNumber(schema, kind === 'integer');
    }
  };
  /** Only required members are made, so that recursive schemas end. */
  const makeObject = (schema: JsonObject, depth: number): Json => {
    const { properties = {}, additionalProperties: others } = schema;
    if (!isObject(properties)) throw new NoSample('has properties that are none');
    const result = Object.create(null) as JsonObject;
    for (const name of list(schema, 'required')) {
      if (typeof name !== 'string') throw new NoSample("has a 'required' that is no list of names");
      const property = Object.hasOwn(properties, name) ? properties[name] : others;
      spend(name.length);
      result[name] = make(property, depth + 1);
    }
    return result;
  };
  const makeArray = (schema: JsonObject, depth: number): Json => {
    const size = countOf(schema, 'minItems', 0);
    if (size > countOf(schema, 'maxItems', Number.POSITIVE_INFINITY))
      throw new NoSample('requires more items than it allows');
    if (size > 1 && schema['uniqueItems'] === true) throw new NoSample('requires items that differ');
    const items: Json[] = [];
    while (items.length < size) items.push(make(schema['items'], depth + 1));
    return items;
  };
  /** Lengths are counted in characters, not in UTF-16 units. */
  const makeText = (schema: JsonObject): string => {
    const { format } = schema;
    const known = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
    if (format !== undefined && known === undefined)
      throw new NoSample("has a 'format' that local-echo does not know");
    const least = countOf(schema, 'minLength', 0);
    const most = countOf(schema, 'maxLength', Number.POSITIVE_INFINITY);
    spend(Math.max(least, Math.min(text.length, most)));
    const characters = known === undefined ? [...text.slice(0, 2 * most)].slice(0, most) : [...known];
    while (known === undefined && characters.length < least) characters.push('.');
    if (characters.length < least || characters.length > most)
      throw new NoSample('wants a text of an impossible length');
    return characters.join('');
  };
  return make(root, 0);
}

function kindOf(schema: JsonObject): string {
  const keyword = words('const enum $ref anyOf allOf').find((name) => schema[name] !== undefined);
  if (keyword !== undefined) return keyword;
  const implied =
    schema['properties'] !== undefined ? 'object' : schema['items'] !== undefined ? 'array' : 'string';
  const type = [schema['type'] ?? implied].flat()[0];
  if (typeof type !== 'string' || !words('object array string number integer boolean null').includes(type))
    throw new NoSample('names a type that there is not');
  return type;
}

function isOfType(value: Json, type: Json): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  return typeof value === type || (type === 'number' && isRawNumber(value));
}

function list(schema: JsonObject, name: string): Json[] {
  const value = schema[name] ?? [];
  if (!Array.isArray(value)) throw new NoSample(`has a '${name}' that is no list`);
  return value;
}

/** A part of the same document (RFC 6901). */
function resolve(root: Json | undefined, reference: Json | undefined): Json {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference))
    throw new NoSample("has a '$ref' that does not begin with #");
  let found = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  if (found === undefined) throw new NoSample("has a '$ref' to something that is not there");
  return found;
}

/** The sample of the first branch that has one. */
function firstOf(branches: readonly Json[], make: (branch: Json) => Json): Json {
  let reason = new NoSample("has an empty 'anyOf'");
  for (const branch of branches) {
    try {
      return make(branch);
    } catch (error) {
      if (!(error instanceof NoSample)) throw error;
      reason = error;
    }
  }
  throw reason;
}

function countOf(schema: JsonObject, name: string, absent: number): number {
  const value = schema[name] ?? absent;
  if (typeof value !== 'number' || !(value >= 0)) throw new NoSample(`has a '${name}' that is no count`);
  return value;
}

function makeNumber(schema: JsonObject, isInteger: boolean): number {
  const bound = (name: string, absent: number): number => {
    const value = schema[name] ?? absent;
    if (typeof value !== 'number') throw new NoSample(`has a '${name}' that is no number`);
    return value;
  };
  const least = bound('minimum', Number.NEGATIVE_INFINITY);
  const above = bound('exclusiveMinimum', Number.NEGATIVE_INFINITY);
  const most = bound('maximum', Number.POSITIVE_INFINITY);
  const below = bound('exclusiveMaximum', Number.POSITIVE_INFINITY);
  const [lower, upper] = [Math.max(least, above), Math.min(most, below)];
  const near = isInteger
    ? [0, Math.ceil(lower), Math.floor(lower) + 1, Math.floor(upper), Math.ceil(upper) - 1]
    : [0, lower, upper, lower + 1, upper - 1, (lower + upper) / 2];
  const fits = (each: number): boolean => each >= least && each > above && each <= most && each < below;
  const found = near.find((each) => Number.isFinite(each) && fits(each));
  if (found === undefined) throw new NoSample('wants a number that there is not');
  return found;
}
