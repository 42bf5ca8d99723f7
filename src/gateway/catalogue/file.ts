// The models file: upstreams, models, defaults. Every mistake is refused with its line.

import { LOCAL_EMBEDDING_MODEL } from '../../core/embed-texts.ts';
import type { Endpoint } from '../adapters/adapter.ts';
import { ADAPTERS } from '../adapters/index.ts';
import {
  CONCURRENCY_DEFAULTS,
  EMBEDDING_INPUTS_MAX,
  RETRIES_DEFAULT,
  RETRIES_MAX,
  TIMEOUT_DEFAULTS_MS,
} from '../limits.ts';
import type { ReadVariable } from './file-mistake.ts';
import { type Located, readYaml } from './located-yaml.ts';
import {
  builtInModel,
  type CatalogueSpec,
  ENDPOINTS,
  isBuiltIn,
  MODEL_ID,
  type ModelSpec,
  type TargetSpec,
  type Timeouts,
  UPSTREAM_KINDS,
  type UpstreamSpec,
} from './model.ts';
import { readPrice } from './price.ts';

const DAY_MS = 86_400_000;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Throws FileMistake with the line and the reason. */
export function parseModelsFile(text: string, variable: ReadVariable): CatalogueSpec {
  const root = readYaml(text, variable).members(['upstreams', 'models', 'defaults']);
  const upstreams = new Map(
    root['upstreams']?.entries().map(([name, value]) => [name, readUpstream(name, value)]),
  );
  const located = root['models']?.entries() ?? [];
  const models = new Map(located.map(([id, value]) => [id, readModel(id, value, upstreams)]));
  const builtIn = new Set<string>();
  /** A model that the file has, or that is built in and so comes to be listed. */
  const find = (value: Located, endpoints: readonly Endpoint[]): string => {
    const id = value.text();
    if (!models.has(id) && isBuiltIn(id)) builtIn.add(id);
    const model = models.get(id) ?? (isBuiltIn(id) ? builtInModel(id) : undefined);
    if (model === undefined) return value.fail(`names the model ${id}, which is not in the file`);
    const lacking = endpoints.filter((each) => !model.endpoints.includes(each));
    return lacking.length === 0
      ? id
      : value.fail(`names the model ${id}, which cannot do ${lacking.join(', ')}`);
  };
  for (const [id, value] of located) {
    const model = models.get(id);
    const fallbacks = value.members(MODEL_MEMBERS)['fallbacks']?.items() ?? [];
    for (const each of fallbacks) if (each.text() === id) each.fail('names the model itself');
    if (model !== undefined)
      models.set(id, { ...model, fallbacks: fallbacks.map((each) => find(each, model.endpoints)) });
  }
  const stated = readDefaults(root['defaults'], find);
  if (stated.embeddings === undefined && !models.has(LOCAL_EMBEDDING_MODEL.id))
    builtIn.add(LOCAL_EMBEDDING_MODEL.id);
  const all = [...models.values(), ...[...builtIn].map(builtInModel)];
  return {
    models: all,
    defaults: {
      chat: stated.chat ?? all.find(({ endpoints }) => endpoints.includes('chat'))?.id,
      embeddings: stated.embeddings ?? LOCAL_EMBEDDING_MODEL.id,
    },
    statedDefaults: withCompletions(stated, all),
  };
}

type Defaults = CatalogueSpec['statedDefaults'];

function readDefaults(
  value: Located | undefined,
  find: (value: Located, endpoints: readonly Endpoint[]) => string,
): Defaults {
  const members = value?.members(ENDPOINTS) ?? {};
  const stated: Defaults = {};
  for (const endpoint of ENDPOINTS) {
    const member = members[endpoint];
    if (member !== undefined) stated[endpoint] = find(member, [endpoint]);
  }
  return stated;
}

/** A default of chat that also completes texts is the default of completions. */
function withCompletions(stated: Defaults, models: readonly ModelSpec[]): Defaults {
  const chat = models.find(({ id }) => id === stated.chat);
  return chat?.endpoints.includes('completions') ? { completions: chat.id, ...stated } : stated;
}

const UPSTREAM_MEMBERS = [
  'kind',
  'base_url',
  'api_key',
  'api_version',
  'headers',
  'timeout_ms',
  'retries',
  'concurrency',
  'embedding_inputs_max',
  'stream_usage',
  'pass_organization',
  'betas',
];

function readUpstream(name: string, value: Located): UpstreamSpec {
  const members = value.members(UPSTREAM_MEMBERS);
  const kind = members['kind']?.choice(UPSTREAM_KINDS) ?? 'openai';
  const apiVersion = members['api_version']?.text();
  if (kind === 'azure' && apiVersion === undefined) value.fail('needs an api_version, such as 2024-10-21');
  const apiKey = members['api_key']?.text();
  if (apiKey !== undefined && !HEADER_VALUE.test(apiKey)) members['api_key']?.fail('must be a single line');
  const concurrency = members['concurrency']?.members(['max', 'queue']);
  return {
    name,
    kind,
    baseUrl: readBaseUrl(members['base_url'] ?? value.fail('needs a base_url')),
    apiKey,
    apiVersion,
    headers: readHeaders(members['headers']),
    timeoutsMs: readTimeouts(members['timeout_ms']),
    retries:
      members['retries']?.number({ minimum: 0, maximum: RETRIES_MAX, integer: true }) ?? RETRIES_DEFAULT,
    concurrency: {
      max:
        concurrency?.['max']?.number({ minimum: 1, maximum: 1e6, integer: true }) ?? CONCURRENCY_DEFAULTS.max,
      queue:
        concurrency?.['queue']?.number({ minimum: 0, maximum: 1e6, integer: true }) ??
        CONCURRENCY_DEFAULTS.queue,
    },
    embeddingInputsMax:
      members['embedding_inputs_max']?.number({ minimum: 1, maximum: EMBEDDING_INPUTS_MAX, integer: true }) ??
      EMBEDDING_INPUTS_MAX,
    streamUsage: members['stream_usage']?.boolean() ?? true,
    passOrganization: members['pass_organization']?.boolean() ?? false,
    betas: members['betas']?.items().map((each) => each.text()),
  };
}

function readBaseUrl(value: Located): string {
  const text = value.text();
  const url = URL.parse(text);
  const plain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    !/[?#]/.test(text);
  return plain
    ? text.replace(/\/+$/, '')
    : value.fail('must be an http or https URL without user, query and fragment');
}

function readHeaders(value: Located | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, each] of value?.entries() ?? []) {
    const text = each.text();
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(text)) each.fail('is no header');
    headers[name.toLowerCase()] = text;
  }
  return headers;
}

function readTimeouts(value: Located | undefined): Timeouts {
  const timeouts = { ...TIMEOUT_DEFAULTS_MS };
  const names = Object.keys(timeouts) as (keyof Timeouts)[];
  const members = value?.members(names);
  for (const name of names) {
    const given = members?.[name]?.number({ minimum: 1, maximum: DAY_MS, integer: true });
    if (given !== undefined) timeouts[name] = given;
  }
  return timeouts;
}

const MODEL_MEMBERS = [
  'endpoints',
  'strategy',
  'targets',
  'fallbacks',
  'price',
  'cache',
  'owned_by',
  'description',
];

function readModel(id: string, value: Located, upstreams: ReadonlyMap<string, UpstreamSpec>): ModelSpec {
  if (!MODEL_ID.test(id)) value.fail('must have a name of 1 to 256 visible ASCII characters');
  const members = value.members(MODEL_MEMBERS);
  const named = members['endpoints']?.items().map((each) => each.choice(ENDPOINTS));
  const targets = (members['targets'] ?? value.fail('needs targets')).items();
  if (targets.length === 0) members['targets']?.fail('must name at least one');
  const specs = targets.map((each) => readTarget(each, upstreams, named ?? ['chat']));
  return {
    id,
    // By default a model has the endpoints that all its targets support.
    endpoints:
      named ?? TEXT_ENDPOINTS.filter((each) => specs.every((target) => abilitiesOf(target).includes(each))),
    strategy: members['strategy']?.choice(['weighted', 'latency'] as const) ?? 'weighted',
    targets: specs,
    fallbacks: [],
    price: readPrice(members['price']),
    cacheTtlSeconds:
      members['cache']
        ?.members(['ttl_seconds'])
        ['ttl_seconds']?.number({ minimum: 0, maximum: 31_536_000 }) ?? 0,
    created: 0,
    ownedBy: members['owned_by']?.text() ?? 'atrium',
    description: members['description']?.text(),
  };
}

const TEXT_ENDPOINTS = ['chat', 'completions'] as const;

const abilitiesOf = ({ upstream, model }: TargetSpec): readonly Endpoint[] =>
  upstream === undefined ? builtInModel(model).endpoints : ADAPTERS[upstream.kind].endpoints;

function readTarget(
  value: Located,
  upstreams: ReadonlyMap<string, UpstreamSpec>,
  endpoints: readonly Endpoint[],
): TargetSpec {
  const members = value.members(['upstream', 'model', 'weight']);
  const model = (members['model'] ?? value.fail('needs a model')).text();
  const weight = members['weight']?.number({ minimum: 0, maximum: 1e6 }) ?? 1;
  const name = members['upstream']?.text();
  if (name === undefined)
    return isBuiltIn(model) ? { upstream: undefined, model, weight } : value.fail('needs an upstream');
  const upstream = upstreams.get(name);
  if (upstream === undefined) return value.fail(`names the upstream ${name}, which is not in the file`);
  const able = ADAPTERS[upstream.kind].endpoints;
  const lacking = endpoints.filter((each) => !able.includes(each));
  return lacking.length === 0
    ? { upstream, model, weight }
    : value.fail(`is of kind ${upstream.kind}, which cannot do ${lacking.join(', ')}`);
}
