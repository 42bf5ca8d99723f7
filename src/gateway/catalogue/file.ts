// The models file: upstreams, models, defaults. Every mistake is refused with its line.

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler, ValueErrorType } from '@sinclair/typebox/compiler';
import { LineCounter, type Node, parseDocument } from 'yaml';
import { LOCAL_EMBEDDING_MODEL } from '../../core/embed-texts.ts';
import { ADAPTERS } from '../adapters/index.ts';
import { EMBEDDING_INPUTS_MAX, RETRIES_MAX } from '../limits.ts';
import type { Endpoint } from '../request.ts';
import {
  builtInModel,
  type CatalogueSpec,
  ENDPOINTS,
  FileMistake,
  isBuiltIn,
  MODEL_ID,
  type ModelSpec,
  type Price,
  type ReadVariable,
  type TargetSpec,
  UPSTREAM_DEFAULTS,
  UPSTREAM_KINDS,
  type UpstreamSpec,
} from './model.ts';

/** `must`: what a mistake says. */
const text = Type.String({ minLength: 1, must: 'must be a text' });
const flag = Type.Boolean({ must: 'must be true or false' });
const integer = (minimum: number, maximum: number) =>
  Type.Integer({ minimum, maximum, must: `must be an integer from ${minimum} to ${maximum}` });
const amount = (maximum: number) =>
  Type.Number({ minimum: 0, maximum, must: `must be a number from 0 to ${maximum}` });
const choice = <C extends string>(choices: readonly C[]) =>
  Type.Unsafe<C>({
    ...Type.String({ pattern: `^(?:${choices.join('|')})$` }),
    must: `must be one of ${choices.join(', ')}`,
  });
const list = <T extends TSchema>(items: T) => Type.Array(items, { must: 'must be a list' });
const namedBy = <T extends TSchema>(value: T) =>
  Type.Optional(Type.Record(Type.String(), value, { must: 'must be a mapping' }));
const mapping = <P extends Record<string, TSchema>>(members: P) =>
  Type.Object(members, { additionalProperties: false, must: 'must be a mapping' });
const maybe = Type.Optional;

const timeout = maybe(integer(1, 86_400_000));
const Upstream = mapping({
  base_url: text,
  kind: maybe(choice(UPSTREAM_KINDS)),
  api_key: maybe(text),
  api_version: maybe(text),
  headers: namedBy(text),
  timeout_ms: maybe(
    mapping({ connect: timeout, first_byte: timeout, idle: timeout, total: timeout, reader: timeout }),
  ),
  retries: maybe(integer(0, RETRIES_MAX)),
  concurrency: maybe(mapping({ max: maybe(integer(1, 1e6)), queue: maybe(integer(0, 1e6)) })),
  embedding_inputs_max: maybe(integer(1, EMBEDDING_INPUTS_MAX)),
  stream_usage: maybe(flag),
  pass_organization: maybe(flag),
  betas: maybe(list(text)),
});
const money = maybe(amount(1e9));
const PriceTable = mapping({
  input_per_million: money,
  output_per_million: money,
  cache_read_per_million: money,
  cache_write_per_million: money,
  per_image: namedBy(amount(1e9)),
});
const Model = mapping({
  targets: list(mapping({ model: text, upstream: maybe(text), weight: maybe(amount(1e6)) })),
  endpoints: maybe(list(choice(ENDPOINTS))),
  strategy: maybe(choice(['weighted', 'latency'] as const)),
  fallbacks: maybe(list(text)),
  price: maybe(PriceTable),
  cache: maybe(mapping({ ttl_seconds: maybe(amount(31_536_000)) })),
  owned_by: maybe(text),
  description: maybe(text),
});
const File = mapping({
  upstreams: namedBy(Upstream),
  models: namedBy(Model),
  defaults: maybe(mapping(Object.fromEntries(ENDPOINTS.map((each) => [each, maybe(text)])))),
});
const file = TypeCompiler.Compile(File);

/** An alias may contain itself. */
const NESTING_MAX = 16;

type Path = (string | number)[];

/** Throws FileMistake with the line and the reason. `variable`: the value of `${VAR}` in a text. */
export function parseModelsFile(source: string, variable: ReadVariable): CatalogueSpec {
  const written = new ModelsDocument(source, variable);
  const value = written.read();
  const mistake = file.Errors(value).First();
  if (mistake !== undefined) written.fail(...explain(mistake));
  return toCatalogue(value as Static<typeof File>, written);
}

/** The text of the file, whose values know their lines. */
class ModelsDocument {
  private readonly lines = new LineCounter();
  private readonly document: ReturnType<typeof parseDocument>;
  private readonly variable: ReadVariable;

  constructor(source: string, variable: ReadVariable) {
    this.variable = variable;
    this.document = parseDocument(source, { lineCounter: this.lines, prettyErrors: false });
    const [error] = this.document.errors;
    if (error !== undefined) throw new FileMistake(this.lines.linePos(error.pos[0]).line, error.message);
  }

  /** Throws FileMistake with the line of the value at this path, or of what is around it. */
  fail(path: Path, reason: string): never {
    const { document, lines } = this;
    let found = path;
    let node = document.getIn(found, true) as Node | undefined;
    while (node == null && found.length > 0) {
      found = found.slice(0, -1);
      node = (found.length === 0 ? document.contents : document.getIn(found, true)) as Node | undefined;
    }
    const { line } = lines.linePos(node?.range?.[0] ?? 0);
    const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
    throw new FileMistake(line, `${place.replace(/^\./, '') || 'the file'} ${reason}`);
  }

  /** The value, with the variables that its texts name, and the short forms of prices spelt out. */
  read(): unknown {
    try {
      return this.withVariables(this.document.toJS(), []);
    } catch (error) {
      if (error instanceof FileMistake) throw error;
      return this.fail([], String(error instanceof Error ? error.message : error));
    }
  }

  private withVariables(value: unknown, path: Path): unknown {
    if (typeof value === 'string')
      return value.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => this.readVariable(name, path));
    if (path.length > NESTING_MAX) this.fail(path, 'is nested too deeply');
    const name = path.at(-1);
    if (name === 'price' && value === 0) return { input_per_million: 0 };
    if (name === 'per_image' && typeof value === 'number') return { default: value };
    if (Array.isArray(value)) return value.map((each, index) => this.withVariables(each, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, each]) => [key, this.withVariables(each, [...path, key])]));
  }

  private readVariable(name: string, path: Path): string {
    let value: string | undefined;
    try {
      value = this.variable(name);
    } catch {
      // Without the path of its file, because `/readyz` shows the mistake.
      this.fail(path, `names the variable ${name}, whose file ${name}_FILE cannot be used`);
    }
    return value ?? this.fail(path, `names the variable ${name}, which is not set`);
  }
}

type SchemaMistake = { type: ValueErrorType; schema: TSchema; path: string };

function explain({ type, schema, path }: SchemaMistake): [Path, string] {
  const parts = path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const at = parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  if (type === ValueErrorType.ObjectRequiredProperty)
    return [at.slice(0, -1), `needs ${articleOf(at.at(-1))}`];
  if (type === ValueErrorType.ObjectAdditionalProperties)
    return [at, `is unknown here; known: ${Object.keys(schema['properties']).join(', ')}`];
  return [at, String(schema['must'])];
}

const articleOf = (name: string | number | undefined): string =>
  name === 'targets' ? 'targets' : `a ${name}`;

function toCatalogue(
  { upstreams = {}, models = {}, defaults = {} }: Static<typeof File>,
  written: ModelsDocument,
): CatalogueSpec {
  const byName = new Map(
    Object.entries(upstreams).map(([name, each]) => [name, toUpstream(name, each, written)]),
  );
  const specs = new Map(
    Object.entries(models).map(([id, each]) => [id, toModel(id, each, { upstreams: byName, written })]),
  );
  const builtIn = new Set<string>();
  /** Requires a model that the file has, or that is built in and so comes to be listed. */
  const requireModel = (id: string, endpoints: readonly Endpoint[], path: Path): void => {
    const model =
      specs.get(id) ??
      (isBuiltIn(id)
        ? builtInModel(id)
        : written.fail(path, `names the model ${id}, which is not in the file`));
    const lacking = endpoints.filter((each) => !model.endpoints.includes(each));
    if (lacking.length > 0)
      written.fail(path, `names the model ${id}, which cannot do ${lacking.join(', ')}`);
    if (!specs.has(id)) builtIn.add(id);
  };
  for (const { id, fallbacks, endpoints } of specs.values())
    for (const [index, each] of fallbacks.entries()) {
      const path = ['models', id, 'fallbacks', index];
      if (each === id) written.fail(path, 'names the model itself');
      requireModel(each, endpoints, path);
    }
  const stated = defaults as CatalogueSpec['statedDefaults'];
  for (const [endpoint, id] of Object.entries(stated))
    requireModel(id, [endpoint as Endpoint], ['defaults', endpoint]);
  if (stated.embeddings === undefined && !specs.has(LOCAL_EMBEDDING_MODEL.id))
    builtIn.add(LOCAL_EMBEDDING_MODEL.id);
  const all = [...specs.values(), ...[...builtIn].map(builtInModel)];
  const chat = all.find(({ id }) => id === stated.chat);
  // A default of chat that also completes texts is the default of completions.
  const completes = chat?.endpoints.includes('completions') === true;
  return {
    models: all,
    defaults: {
      chat: stated.chat ?? all.find(({ endpoints }) => endpoints.includes('chat'))?.id,
      embeddings: stated.embeddings ?? LOCAL_EMBEDDING_MODEL.id,
    },
    statedDefaults: completes ? { completions: chat.id, ...stated } : stated,
  };
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function toUpstream(name: string, given: Static<typeof Upstream>, written: ModelsDocument): UpstreamSpec {
  const path = ['upstreams', name];
  const { base_url: address, kind = 'openai', api_key: apiKey, headers = {} } = given;
  const url = URL.parse(address);
  const isPlain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}` === '' &&
    !/[?#]/.test(address);
  if (!isPlain)
    written.fail([...path, 'base_url'], 'must be an http or https URL without user, query and fragment');
  if (kind === 'azure' && given.api_version === undefined)
    written.fail(path, 'needs an api_version, such as 2024-10-21');
  if (apiKey !== undefined && !HEADER_VALUE.test(apiKey))
    written.fail([...path, 'api_key'], 'must be a single line');
  for (const [header, value] of Object.entries(headers))
    if (!HEADER_NAME.test(header) || !HEADER_VALUE.test(value))
      written.fail([...path, 'headers', header], 'is no header');
  const lowerCased = Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]);
  const byDefault = UPSTREAM_DEFAULTS;
  return {
    name,
    kind,
    baseUrl: address.replace(/\/+$/, ''),
    apiKey,
    apiVersion: given.api_version,
    headers: Object.fromEntries(lowerCased),
    timeoutsMs: { ...byDefault.timeoutsMs, ...given.timeout_ms },
    retries: given.retries ?? byDefault.retries,
    concurrency: { ...byDefault.concurrency, ...given.concurrency },
    embeddingInputsMax: given.embedding_inputs_max ?? byDefault.embeddingInputsMax,
    streamUsage: given.stream_usage ?? byDefault.streamUsage,
    passOrganization: given.pass_organization ?? byDefault.passOrganization,
    betas: given.betas,
  };
}

type Known = { upstreams: ReadonlyMap<string, UpstreamSpec>; written: ModelsDocument };

function toModel(id: string, given: Static<typeof Model>, { upstreams, written }: Known): ModelSpec {
  const path = ['models', id];
  if (!MODEL_ID.test(id)) written.fail(path, 'must have a name of 1 to 256 visible ASCII characters');
  if (given.targets.length === 0) written.fail([...path, 'targets'], 'must name at least one');
  const targets = given.targets.map(({ model, upstream: name, weight = 1 }, index): TargetSpec => {
    const at = [...path, 'targets', index];
    if (name === undefined && !isBuiltIn(model)) written.fail(at, 'needs an upstream');
    const upstream = name === undefined ? undefined : upstreams.get(name);
    if (name !== undefined && upstream === undefined)
      written.fail(at, `names the upstream ${name}, which is not in the file`);
    const lacking = (given.endpoints ?? ['chat']).filter(
      (each) => upstream !== undefined && !abilitiesOf({ upstream, model }).includes(each),
    );
    if (lacking.length > 0)
      written.fail(at, `is of kind ${upstream?.kind}, which cannot do ${lacking.join(', ')}`);
    return { upstream, model, weight };
  });
  return {
    id,
    // By default a model has the endpoints that all its targets support.
    endpoints:
      given.endpoints ??
      (['chat', 'completions'] as const).filter((each) =>
        targets.every((target) => abilitiesOf(target).includes(each)),
      ),
    strategy: given.strategy ?? 'weighted',
    targets,
    fallbacks: given.fallbacks ?? [],
    price: toPrice(given.price),
    cacheTtlSeconds: given.cache?.ttl_seconds ?? 0,
    created: 0,
    ownedBy: given.owned_by ?? 'atrium',
    description: given.description,
  };
}

const abilitiesOf = ({ upstream, model }: Omit<TargetSpec, 'weight'>): readonly Endpoint[] =>
  upstream === undefined ? builtInModel(model).endpoints : ADAPTERS[upstream.kind].endpoints;

/** Undefined where nothing is stated. */
function toPrice(given: Static<typeof PriceTable> | undefined): Price | undefined {
  if (given === undefined || Object.keys(given).length === 0) return undefined;
  return {
    inputPerMillion: given.input_per_million ?? 0,
    outputPerMillion: given.output_per_million ?? 0,
    cacheReadPerMillion: given.cache_read_per_million,
    cacheWritePerMillion: given.cache_write_per_million,
    perImage: given.per_image && new Map(Object.entries(given.per_image)),
  };
}
