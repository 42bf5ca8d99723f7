// The short way: one upstream, and every model that it lists.

import { LOCAL_EMBEDDING_MODEL } from '../../core/embed-texts.ts';
import { parseJson } from '../../core/json.ts';
import { LISTING_BYTES_MAX, LISTING_TIMEOUT_MS } from '../limits.ts';
import { builtInModel, type CatalogueSpec, ENDPOINTS, type ModelSpec, type UpstreamSpec } from './model.ts';

/** Throws when the upstream does not give its list. */
export async function listModels(upstream: UpstreamSpec): Promise<CatalogueSpec> {
  const response = await fetch(`${upstream.baseUrl}/models`, {
    headers: upstream.apiKey === undefined ? {} : { authorization: `Bearer ${upstream.apiKey}` },
    redirect: 'manual',
    signal: AbortSignal.timeout(LISTING_TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`the upstream answered ${response.status} to /models`);
  const bytes = await response.bytes();
  if (bytes.length > LISTING_BYTES_MAX) throw new Error("the upstream's list of models is too long");
  const { data } = parseJson(Buffer.from(bytes).toString()) as { data?: unknown };
  if (!Array.isArray(data)) throw new Error("the upstream's list of models is none");
  const models = data.map((each) => toModel(each, upstream)).filter((each) => each !== undefined);
  return {
    models: [...models, builtInModel(LOCAL_EMBEDDING_MODEL.id)],
    defaults: { chat: models[0]?.id, embeddings: LOCAL_EMBEDDING_MODEL.id },
    statedDefaults: {},
  };
}

type Listed = { id?: unknown; created?: unknown; owned_by?: unknown } | null;

function toModel(listed: Listed, upstream: UpstreamSpec): ModelSpec | undefined {
  const { id, created, owned_by: ownedBy } = listed ?? {};
  if (typeof id !== 'string' || id === '' || id === LOCAL_EMBEDDING_MODEL.id) return undefined;
  return {
    id,
    // The list does not contain a model's endpoints; the upstream refuses unsupported ones.
    endpoints: ENDPOINTS,
    strategy: 'weighted',
    targets: [{ upstream, model: id, weight: 1 }],
    fallbacks: [],
    price: undefined,
    cacheTtlSeconds: 0,
    created: typeof created === 'number' ? created : 0,
    ownedBy: typeof ownedBy === 'string' ? ownedBy : upstream.name,
    description: undefined,
  };
}
