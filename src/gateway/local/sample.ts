// The smallest value that satisfies a JSON Schema. Only keywords that can be satisfied with certainty are supported; a
// schema with any other keyword has no sample, so that no answer violates its schema.

import { isObject, isRawNumber, type Json, type JsonObject } from '../../core/json.ts';
import { ECHO_SAMPLE_UNITS_MAX } from '../limits.ts';

const DEPTH_MAX = 32;

/** Why a schema has no sample, as the rest of a sentence. */
export class NoSample extends Error {}

/** Throws NoSample. `text` stands where the schema wants any text. */
export const sampleOf = (schema: Json | undefined, text: string): Json =>
  new Sampler(schema, text).sample(schema, 0);

const ANNOTATIONS = new Set(
  (
    'title description default examples deprecated readOnly writeOnly nullable definitions ' +
    '$schema $id $comment $defs'
  ).split(' '),
);

const KEYWORDS: Record<string, readonly string[]> = {
  object: ['properties', 'required', 'additionalProperties', 'patternProperties', 'maxProperties'],
  array: ['items', 'minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  boolean: [],
  null: [],
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

const typeOf = (value: Json): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isRawNumber(value)) return 'number';
  return typeof value;
};

const fits = (value: Json, type: string): boolean =>
  typeOf(value) === type || (type === 'integer' && Number.isInteger(value));

class Sampler {
  private readonly root: Json | undefined;
  private readonly text: string;
  private left = ECHO_SAMPLE_UNITS_MAX;

  constructor(root: Json | undefined, text: string) {
    this.root = root;
    this.text = text;
  }

  /** References can make a small schema's sample endless. */
  private spend(units: number): void {
    this.left -= units + 1;
    if (this.left < 0) throw new NoSample('asks for too much');
  }

  sample(schema: Json | undefined, depth: number): Json {
    this.spend(0);
    if (depth > DEPTH_MAX) throw new NoSample('is nested too deeply');
    if (schema === true || schema === undefined) return this.words(schema);
    if (!isObject(schema)) throw new NoSample('holds something that is no schema');
    if (schema['const'] !== undefined) return this.chosen(schema, 'const', [schema['const']]);
    if (Array.isArray(schema['enum'])) return this.chosen(schema, 'enum', schema['enum']);
    if (schema['$ref'] !== undefined) return this.referred(schema, depth);
    for (const name of ['anyOf', 'allOf'])
      if (Array.isArray(schema[name])) return this.combined(schema, name, schema[name], depth);
    return this.typed(schema, depth);
  }

  private typed(schema: JsonObject, depth: number): Json {
    const { type } = schema;
    const named = Array.isArray(type) ? type[0] : type;
    const implied =
      schema['properties'] !== undefined ? 'object' : schema['items'] !== undefined ? 'array' : 'string';
    const chosen = named ?? implied;
    if (typeof chosen !== 'string' || !Object.hasOwn(KEYWORDS, chosen))
      throw new NoSample('names a type that there is not');
    this.allow(schema, ['type', ...(KEYWORDS[chosen] ?? [])]);
    if (chosen === 'object') return this.object(schema, depth);
    if (chosen === 'array') return this.array(schema, depth);
    if (chosen === 'string') return this.words(schema);
    if (chosen === 'boolean') return true;
    return chosen === 'null' ? null : numberOf(schema, chosen === 'integer');
  }

  private allow(schema: JsonObject, known: readonly string[]): void {
    for (const name of Object.keys(schema))
      if (!ANNOTATIONS.has(name) && !known.includes(name))
        throw new NoSample(`uses '${name.slice(0, 50)}', which local-echo does not understand there`);
  }

  private chosen(schema: JsonObject, keyword: string, values: Json[]): Json {
    this.allow(schema, [keyword, 'type']);
    const { type } = schema;
    const types = type === undefined ? undefined : Array.isArray(type) ? type : [type];
    this.spend(values.length * (types?.length ?? 0));
    const value = values.find((each) => types?.some((name) => fits(each, String(name))) ?? true);
    if (value === undefined) throw new NoSample(`has no value in '${keyword}' of its type`);
    this.spend(JSON.stringify(value).length);
    return value;
  }

  private referred(schema: JsonObject, depth: number): Json {
    this.allow(schema, ['$ref']);
    const { $ref: reference } = schema;
    if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference))
      throw new NoSample("has a '$ref' that does not begin with #");
    this.spend(reference.length);
    let found: Json | undefined = this.root;
    for (const part of reference.slice(1).split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    if (found === undefined) throw new NoSample("has a '$ref' to something that is not there");
    return this.sample(found, depth + 1);
  }

  /** The first branch that has a sample; of `allOf` there may be one only. */
  private combined(schema: JsonObject, keyword: string, branches: Json[], depth: number): Json {
    this.allow(schema, [keyword]);
    if (keyword === 'allOf' && branches.length !== 1) throw new NoSample("has an 'allOf' of several schemas");
    let reason = new NoSample(`has an empty '${keyword}'`);
    for (const branch of branches) {
      try {
        return this.sample(branch, depth + 1);
      } catch (error) {
        if (!(error instanceof NoSample)) throw error;
        reason = error;
      }
    }
    throw reason;
  }

  /** Only required members are made, so that recursive schemas end. */
  private object(schema: JsonObject, depth: number): Json {
    const required = schema['required'] ?? [];
    const properties = schema['properties'] ?? {};
    const others = schema['additionalProperties'];
    if (!Array.isArray(required) || !isObject(properties)) throw new NoSample('has properties that are none');
    if (required.length > 0 && schema['patternProperties'] !== undefined)
      throw new NoSample("uses 'patternProperties', which local-echo does not understand there");
    const result: JsonObject = Object.create(null) as JsonObject;
    for (const name of required) {
      if (typeof name !== 'string') throw new NoSample("has a 'required' that is no list of names");
      const property = Object.hasOwn(properties, name) ? properties[name] : others;
      if (property === false) throw new NoSample(`requires '${name.slice(0, 50)}', and forbids it`);
      this.spend(name.length);
      result[name] = this.sample(property, depth + 1);
    }
    const most = schema['maxProperties'];
    if (most !== undefined && !(typeof most === 'number' && Object.keys(result).length <= most))
      throw new NoSample('requires more properties than it allows');
    return result;
  }

  private array(schema: JsonObject, depth: number): Json {
    const size = countOf(schema, 'minItems', 0);
    if (size > countOf(schema, 'maxItems', Number.POSITIVE_INFINITY))
      throw new NoSample('requires more items than it allows');
    if (size > 1 && schema['uniqueItems'] === true) throw new NoSample('requires items that differ');
    const items: Json[] = [];
    while (items.length < size) items.push(this.sample(schema['items'], depth + 1));
    return items;
  }

  private words(schema: JsonObject | true | undefined): string {
    const constraints = isObject(schema) ? schema : {};
    const { format } = constraints;
    const known = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
    if (format !== undefined && known === undefined)
      throw new NoSample("has a 'format' that local-echo does not know");
    const least = countOf(constraints, 'minLength', 0);
    const most = countOf(constraints, 'maxLength', Number.POSITIVE_INFINITY);
    this.spend(Math.max(least, Math.min(this.text.length, most)));
    // Lengths are counted in characters, not in UTF-16 units.
    const characters = known === undefined ? [...this.text.slice(0, 2 * most)].slice(0, most) : [...known];
    while (known === undefined && characters.length < least) characters.push('.');
    if (characters.length < least || characters.length > most)
      throw new NoSample('wants a text of a length that there is not');
    return characters.join('');
  }
}

function countOf(schema: JsonObject, name: string, otherwise: number): number {
  const value = schema[name];
  if (value === undefined) return otherwise;
  if (typeof value !== 'number' || !(value >= 0)) throw new NoSample(`has a '${name}' that is no count`);
  return value;
}

function numberOf(schema: JsonObject, integer: boolean): number {
  const bound = (name: string, otherwise: number): number => {
    const value = schema[name];
    if (value === undefined) return otherwise;
    if (typeof value !== 'number') throw new NoSample(`has a '${name}' that is no number`);
    return value;
  };
  const [least, above] = [
    bound('minimum', Number.NEGATIVE_INFINITY),
    bound('exclusiveMinimum', Number.NEGATIVE_INFINITY),
  ];
  const [most, below] = [
    bound('maximum', Number.POSITIVE_INFINITY),
    bound('exclusiveMaximum', Number.POSITIVE_INFINITY),
  ];
  const lower = Math.max(least, above);
  const upper = Math.min(most, below);
  const near = integer
    ? [0, Math.ceil(lower), Math.floor(lower) + 1, Math.floor(upper), Math.ceil(upper) - 1]
    : [0, lower, upper, lower + 1, upper - 1, (lower + upper) / 2];
  const found = near.find(
    (each) => Number.isFinite(each) && each >= least && each > above && each <= most && each < below,
  );
  if (found === undefined) throw new NoSample('wants a number that there is not');
  return found;
}
