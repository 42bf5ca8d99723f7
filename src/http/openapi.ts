// Operations → operation objects of OpenAPI 3.1. Schemas with an $id become components, so that generated clients have the
// interface's names.

import { Kind, OptionalKind, type TObject, type TSchema } from '@sinclair/typebox';
import { CREDENTIALS } from './credentials.ts';
import type { Operation } from './routes.ts';
import type { BodySpec, ResponseSpec } from './schemas.ts';

type JsonSchema = Record<string, unknown>;

/** Collects the components that the operations' schemas refer to. */
export type SchemaComponents = Record<string, JsonSchema>;

/**
 * One operation as an OpenAPI operation object; named schemas are added to `components`. Members that are undefined are
 * absent in the JSON text.
 */
export function toOpenApiOperation(operation: Operation, components: SchemaComponents) {
  const { id, area, summary, description, credential, scope, responses, events, audits } = operation;
  const { schemes, header, place } = CREDENTIALS[credential];
  const scoped = scope === undefined ? '' : ` with the scope \`${scope}\``;
  const keyed = place === undefined ? 'Needs no key.' : `Needs a key${scoped}, ${place}.`;
  const text = [description, keyed].filter((part) => part !== undefined).join('\n\n');
  return {
    operationId: id,
    tags: [area],
    summary,
    description: text,
    parameters: [
      ...(header === undefined
        ? []
        : [{ in: 'header', name: header, required: true, description: HEADER, schema: { type: 'string' } }]),
      ...toParameters('path', operation.parameters, components),
      ...toParameters('query', operation.query, components),
    ],
    requestBody: operation.body && toRequestBody(operation.body, components),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, spec]) => [status, toResponse(spec, components)]),
    ),
    'x-events': events,
    'x-audit-actions': audits,
    security: schemes.map((scheme) => ({ [scheme]: [] })),
  };
}

const HEADER =
  'An API key of the workspace. Requests that send it as `Authorization: Bearer …` may leave this header out.';

function toRequestBody({ contents, isOptional }: BodySpec, components: SchemaComponents) {
  const media = Object.entries(contents).map(([type, each]) => [type, toMedia(each, components)]);
  return { required: !isOptional, content: Object.fromEntries(media) };
}

function toParameters(place: 'path' | 'query', schema: TObject, components: SchemaComponents) {
  return Object.entries(schema.properties).map(([name, property]) => {
    const { description, examples, ...rest } = toJsonSchema(property, components);
    const [example] = Array.isArray(examples) ? examples : [];
    const required =
      place === 'path' || (property[OptionalKind] === undefined && property.default === undefined);
    return { in: place, name, required, description, example, schema: rest };
  });
}

function toResponse(spec: ResponseSpec, components: SchemaComponents) {
  const { description, schema, example, mediaType, stream } = spec;
  const content: Record<string, object> = {};
  if (schema !== undefined) content['application/json'] = toMedia({ schema, example }, components);
  for (const type of [mediaType ?? []].flat()) content[type] = { schema: { type: 'string' } };
  if (stream !== undefined) content['text/event-stream'] = { schema: EVENTS, example: stream };
  return Object.keys(content).length === 0 ? { description } : { description, content };
}

/** Tools read the schema of a stream as that of its text, or of each event, which has `data` (OpenAPI 3.2): both fit. */
const EVENTS = {
  type: ['string', 'object'],
  properties: {
    data: { description: 'JSON, or the mark of the end.' },
    event: { type: 'string' },
  },
  description: 'Server-sent events: each has one line `data:`; lines that begin with a colon are comments.',
};

function toMedia({ schema, example }: { schema: TSchema; example?: unknown }, components: SchemaComponents) {
  return {
    schema: toJsonSchema(schema, components),
    example: typeof example === 'function' ? example() : example,
  };
}

/** TypeBox → JSON Schema 2020-12, with named schemas as references and choices of words as `enum`. */
function toJsonSchema(schema: TSchema, components: SchemaComponents): JsonSchema {
  const name = schema.$id;
  if (name === undefined) return convert(schema, components);
  if (components[name] === undefined) {
    components[name] = {};
    components[name] = convert(schema, components);
  }
  return { $ref: `#/components/schemas/${name}` };
}

/** The same of a schema without named parts, as a document of its own. */
export const toPlainSchema = (schema: TSchema): JsonSchema => convert(schema, {});

/**
 * Our keywords that are not part of JSON Schema. `impliedDefault`: see `defaultOf`. `present`: a function that returns more
 * keywords, which depend on the configuration.
 */
const PRIVATE_KEYWORDS = new Set(['$id', 'dictionary', 'parse', 'default', 'impliedDefault', 'present']);

/** The default that the parser sets, or that the operation applies because it has to know whether a value was sent. */
const defaultOf = (schema: TSchema) => ({ default: schema.default ?? schema['impliedDefault'] });

function convert(schema: TSchema, components: SchemaComponents): JsonSchema {
  const words = literalsOf(schema);
  if (words !== undefined)
    return { type: 'string', enum: words, ...defaultOf(schema), description: schema.description };
  const result: JsonSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (!PRIVATE_KEYWORDS.has(keyword)) result[keyword] = convertKeyword(keyword, value, components);
  }
  const present = schema['present'] as (() => JsonSchema) | undefined;
  return { ...result, ...defaultOf(schema), ...present?.() };
}

function convertKeyword(keyword: string, value: unknown, components: SchemaComponents): unknown {
  if (keyword === 'properties' || keyword === 'patternProperties') {
    const properties = Object.entries(value as Record<string, TSchema>);
    return Object.fromEntries(
      properties.map(([name, property]) => [name, toJsonSchema(property, components)]),
    );
  }
  if (keyword === 'anyOf') return (value as TSchema[]).map((member) => toJsonSchema(member, components));
  if (keyword === 'items') return toJsonSchema(value as TSchema, components);
  if (keyword === 'additionalProperties' && typeof value === 'object')
    return toJsonSchema(value as TSchema, components);
  return value;
}

/** The words of an enumeration, or undefined for any other schema. */
function literalsOf(schema: TSchema): string[] | undefined {
  if (schema[Kind] !== 'Union') return undefined;
  const members = schema['anyOf'] as TSchema[];
  return members.every((member) => member[Kind] === 'Literal')
    ? members.map((member) => member['const'])
    : undefined;
}
