// The short way: one upstream, and every model that it lists.

import { LOCAL_EMBEDDING_MODEL } from '../../core/embed-texts.ts';
import { parseJson } from '../../core/json.ts';
import { LISTING_BYTES_MAX, LISTING_TIMEOUT_MS } from '../limits.ts';
import type { Endpoint } from '../request.ts';
import { builtInModel, type CatalogueSpec, type ModelSpec, type UpstreamSpec } from './model.ts';

/** Throws when the upstream does not give its list. */
export async function listModels(upstream: UpstreamSpec): Promise<CatalogueSpec> {
  const response = await fetch(`${upstream.baseUrl}/models`, {
    headers: upstream.apiKey === undefined ? {} : { authorization: `Bearer ${upstream.apiKey}` },
    redirect: 'manual',
    signal: AbortSignal.timeout(LISTING_TIMEOUT_MS),
  });
  // Some upstreams have no list; they are asked for the models that are named.
  if ([404, 405, 501].includes(response.status)) return toSpec([]);
  if (!response.ok) throw new Error(`the upstream answered ${response.status} to /models`);
  const bytes = await response.bytes();
  if (bytes.length > LISTING_BYTES_MAX) throw new Error("the upstream's list of models is too long");
  const { data } = parseJson(Buffer.from(bytes).toString()) as { data?: unknown };
  if (!Array.isArray(data)) throw new Error("the upstream's list of models is none");
  const models = data.map((each) => toModel(each, upstream)).filter((each) => each !== undefined);
  return toSpec(models);
}

const toSpec = (models: ModelSpec[]): CatalogueSpec => ({
  models: [...models, builtInModel(LOCAL_EMBEDDING_MODEL.id)],
  defaults: { chat: findChatModel(models)?.id, embeddings: LOCAL_EMBEDDING_MODEL.id },
  statedDefaults: {},
});

/** The first that is made for conversations, else the first that takes them. */
function findChatModel(models: readonly ModelSpec[]): ModelSpec | undefined {
  const able = models.filter(({ endpoints }) => endpoints.includes('chat'));
  return able.find(({ id }) => !SPECIAL.test(id)) ?? able[0];
}

type Listed = { id?: unknown; created?: unknown; owned_by?: unknown } | null;

function toModel(listed: Listed, upstream: UpstreamSpec): ModelSpec | undefined {
  const { id, created, owned_by: ownedBy } = listed ?? {};
  if (typeof id !== 'string' || id === '' || id === LOCAL_EMBEDDING_MODEL.id) return undefined;
  return {
    ...namedModel(id, upstream),
    created: typeof created === 'number' ? created : 0,
    ownedBy: typeof ownedBy === 'string' ? ownedBy : upstream.name,
  };
}

/** A model that an upstream may have, whether or not its list names it. */
export function namedModel(id: string, upstream: UpstreamSpec): ModelSpec {
  return {
    id,
    endpoints: endpointsOf(id),
    strategy: 'weighted',
    targets: [{ upstream, model: id, weight: 1 }],
    fallbacks: [],
    price: undefined,
    cacheTtlSeconds: 0,
    created: 0,
    ownedBy: upstream.name,
    description: undefined,
  };
}

/** What models can do, by their names, because lists do not say it. The first that fits. */
const KINDS: readonly (readonly [name: RegExp, endpoints: readonly Endpoint[]])[] = [
  [/whisper|transcri|\btts\b|text-to-speech|\bspeech\b|moderation|re-?rank|\bsora\b|\bveo\b/, []],
  [
    /embed|\b(?:bge|gte|e5|m3e|gtr|uae|labse|voyage|stella|text2vec|colbert|instructor)\b|minilm|mpnet|mxbai|sentence-|jina-clip|text-(?:similarity|search)-/,
    ['embeddings'],
  ],
  [
    /dall-?e|gpt-image|chatgpt-image|\bimagen\b|stable-?diffusion|\bsdxl\b|\bsd3|\bflux\b|midjourney|recraft|ideogram|kandinsky|qwen-image|seedream|titan-image|nova-canvas|grok-2-image/,
    ['images'],
  ],
  [/gpt-3\.5-turbo-instruct|(?:^|-)(?:davinci|curie|babbage|ada)\b/, ['completions']],
];

const CHAT: readonly Endpoint[] = ['chat', 'completions'];

/** Models that take conversations, but are not made for all of them. */
const SPECIAL = /audio|realtime|image|guard|search-|research|computer-use|codex/i;

const endpointsOf = (id: string): readonly Endpoint[] =>
  KINDS.find(([name]) => name.test(id.toLowerCase().replaceAll('_', '-')))?.[1] ?? CHAT;
