// Where the suites run: a base URL and a key, and the names that models have there. The same suites hold the mock
// itself, so that what they ask for is what the wire's inventor answers.

import OpenAI, { type ClientOptions } from 'openai';
import { type ModelsFile, type RunningGateway, startGateway } from '../../support/gateway.ts';
import { type MockUpstream, startMockUpstream } from '../../support/mock-upstream.ts';

/** The models' names at the upstream: what it does is in the name (test/support/mock-upstream/scenario.ts). */
const CHAT_MODELS = [
  'ok',
  'shards',
  'crlf',
  'gzip',
  'big',
  'slow+ms=300',
  'hang',
  'hang-mid',
  'die-mid',
  'error-mid',
  'trickle',
  'status-400',
  'status-404',
  'status-409',
  'status-422',
  'status-429',
  'status-500',
  'status-503',
  'status-429+retry-after-ms=10',
  'trickle+ms=50+words=100',
];
const EMBEDDING_MODELS = ['embed'];
const KINDS = ['openai', 'azure', 'anthropic'] as const;
export type Kind = (typeof KINDS)[number];

export type Place = {
  /** The SDK's base URL. */
  baseUrl: string;
  key: string;
  /** What a model is called here. */
  model(upstreamModel: string): string;
  mock: MockUpstream;
};

const endpointsOf = (kind: Kind, name: string): string[] => {
  if (EMBEDDING_MODELS.includes(name)) return ['embeddings'];
  return kind === 'anthropic' ? ['chat'] : ['chat', 'completions', 'images'];
};

const nameOf = (kind: Kind, model: string): string => (kind === 'openai' ? model : `${kind}/${model}`);

/** Every model by every kind of upstream. The SDK retries, so the gateway does not. */
function modelsFile(mockUrl: string): ModelsFile {
  const baseUrls: Record<Kind, string> = { openai: `${mockUrl}/v1`, azure: mockUrl, anthropic: mockUrl };
  const upstreams = KINDS.map((kind) => [
    kind,
    {
      kind,
      base_url: baseUrls[kind],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the service puts the variable in.
      api_key: '${UPSTREAM_KEY}',
      retries: 0,
      pass_organization: true,
      ...(kind === 'azure' && { api_version: '2024-10-21' }),
    },
  ]);
  const models = KINDS.flatMap((kind) =>
    [...CHAT_MODELS, ...(kind === 'anthropic' ? [] : EMBEDDING_MODELS)].map((model) => {
      const upstreamModel = EMBEDDING_MODELS.includes(model) ? 'ok+key=embed' : model;
      const targets = [{ upstream: kind, model: upstreamModel }];
      return [nameOf(kind, model), { endpoints: endpointsOf(kind, model), targets }];
    }),
  );
  return {
    upstreams: Object.fromEntries(upstreams),
    models: Object.fromEntries(models),
    defaults: { chat: 'ok', embeddings: 'embed' },
  };
}

type Started = { gateway: RunningGateway; stop(): Promise<void> };

export type PlaceName = 'the mock itself' | `the gateway before ${Kind}`;
export const PLACES: PlaceName[] = [
  'the mock itself',
  ...KINDS.map((kind) => `the gateway before ${kind}` as const),
];

/** The kind of upstream that stands behind; the mock is its own OpenAI. */
export const kindOf = (name: PlaceName): Kind => KINDS.find((kind) => name.endsWith(kind)) ?? 'openai';

let started: Promise<Started> | undefined;

async function start(): Promise<Started> {
  const gateway = await startGateway(modelsFile);
  return { gateway, stop: async () => gateway[Symbol.asyncDispose]() };
}

/** One service for the places that are one; ended by `endPlaces`. */
export async function enterPlace(name: PlaceName): Promise<Place> {
  if (name === 'the mock itself') {
    const mock = await startMockUpstream();
    ending.push(() => mock.stop());
    return { baseUrl: `${mock.url}/v1`, key: 'any', mock, model: (model) => model.replace(/^embed$/, 'ok') };
  }
  started ??= start();
  const { gateway, stop } = await started;
  if (!ending.includes(stop)) ending.push(stop);
  const { url, key, mock } = gateway;
  return { baseUrl: `${url}/v1`, key, mock, model: (model) => nameOf(kindOf(name), model) };
}

let ending: (() => Promise<void>)[] = [];

export async function endPlaces(): Promise<void> {
  const all = ending;
  ending = [];
  started = undefined;
  for (const end of all) await end();
}

export const clientOf = ({ baseUrl, key }: Place, options: ClientOptions = {}): OpenAI =>
  new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0, timeout: 120_000, ...options });
