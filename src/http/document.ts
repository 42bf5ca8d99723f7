// The OpenAPI 3.1 document of the whole interface, from what the routes state (its schemas are JSON Schema 2020-12). Schemas with an $id
// become components, so that generated clients have the interface's names.

import { Kind, OptionalKind, type TObject, type TSchema } from '@sinclair/typebox';
import { CREDENTIALS, SECURITY_SCHEMES } from './credentials.ts';
import type { Operation } from './routes.ts';
import type { BodySpec, ResponseSpec } from './schemas.ts';

type JsonSchema = Record<string, unknown>;

/** Collects the components that the operations' schemas refer to. */
type SchemaComponents = Record<string, JsonSchema>;

const DESCRIPTION = `Documents, models, conversations, bots and usage events for an organisation’s AI applications, in one self-hosted service.

**Begin here.** Press *Authorize* and paste an API key: where nothing is configured the first start makes one, which stays in the file \`first-key\` of the data folder. Then open an operation, press *Try it out* and *Execute*. Programs read the same description at [/docs/json](/docs/json).

**Keys.** One kind of key serves every area; each operation says which scope the key needs and where it is sent. A key belongs to one workspace, the \`workspace_id\` of the paths. The key is checked before the body is read: a request whose key is absent, unknown or not allowed is answered with that, whatever its body holds.

**Errors.** A request that fails validation is answered 422 with every mistake at once, other refusals with one sentence in \`detail\`; the operations that follow the API of OpenAI answer errors in its shape. Where a backing service is away the answer is 503 with \`Retry-After\`. While the service ends, every operation but the probes answers 503. A method that a path does not have is answered 405. Every answer has the header \`x-request-id\`, under which the service’s log knows the request.`;

export const documentInfo = (version: string) => ({
  openapi: '3.1.0',
  info: { title: 'Atrium', version, description: DESCRIPTION },
});

/** A tag of an area that the interface gives a version. */
const versioned = (name: string, version: string, description: string) => ({
  name,
  description: `Version ${version}. ${description}`,
  'x-version': version,
});

/** The areas of the interface, in the order in which they are described. */
const TAGS = [
  versioned(
    'documents',
    '1.0.0',
    'Upload, find, describe, archive, bin and download files, whose bytes go straight to the store.',
  ),
  versioned(
    'models',
    '0.0.0',
    'Chat completions, completions, embeddings and images, as in the API of OpenAI. Each operation stands below `/v1` ' +
      'and at the root; set the base URL of an SDK to `/v1` of this service.',
  ),
  versioned('chat', 'v1', 'Chat sessions of communication channels, and their messages.'),
  versioned('bots', 'v1', 'The webhook of chat apps, and the registrations of bots.'),
  { name: 'mcp', description: 'Tools and resources for models, by the Model Context Protocol.' },
  versioned('compute', 'v1', 'Work for the processor, to probe with.'),
  { name: 'metrics', description: 'Usage events: reading, recording and summing them.' },
  { name: 'access', description: 'Workspaces, the people in them, and their API keys.' },
  { name: 'administration', description: 'The state of the service and of what stands behind it.' },
  { name: 'health', description: 'Probes and metrics for those who operate the service. They need no key.' },
];

/** The operations and the schemas that they name, as they are now: examples and choices may depend on the configuration. */
export function describeOperations(operations: readonly Operation[]) {
  const schemas: SchemaComponents = {};
  const paths: Record<string, Record<string, object>> = {};
  const described = operations.filter(({ isHidden }) => !isHidden);
  for (const operation of described) {
    const methods = paths[operation.path] ?? {};
    methods[operation.method.toLowerCase()] = toOpenApiOperation(operation, schemas);
    paths[operation.path] = methods;
  }
  const areas = new Set(described.map(({ area }) => area));
  return {
    tags: TAGS.filter(({ name }) => areas.has(name)),
    paths,
    components: { securitySchemes: SECURITY_SCHEMES, schemas },
  };
}

/** Members that are undefined are absent in the JSON text. */
function toOpenApiOperation(operation: Operation, components: SchemaComponents) {
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
