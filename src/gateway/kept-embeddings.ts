// Embeddings for other areas, which keep them: by one model, never by its fallbacks, whose vectors could not be compared.

import { type Embeddings, type EmbedTexts, LOCAL_EMBEDDING_MODEL, type Payer } from '../core/embed-texts.ts';
import { ServiceError, upstreamFailed } from '../core/errors.ts';
import { isRawNumber, type JsonObject } from '../core/json.ts';
import type { Allowances } from './allowances.ts';
import type { CatalogueKeeper } from './catalogue/current.ts';
import { refusalOf } from './conversation.ts';
import type { Caller, Served } from './model-call.ts';
import { GatewayRequest, parseAnswer } from './request.ts';
import type { ModelService } from './serve.ts';
import { type Model, TARGET_HEADER } from './targets.ts';

/** Statuses of an upstream that does not take these texts. */
const REFUSING = new Set([400, 413, 422]);

const NOBODY: Payer = { email: '', keyId: '', limits: {} };

const EMBEDDINGS_NONE = 'The upstream returned an invalid list of embeddings';

export function createKeptEmbeddings(deps: {
  service: ModelService;
  embed: EmbedTexts;
  catalogue: CatalogueKeeper;
  allowances: Allowances;
}): Embeddings {
  /** Throws 429 for a part of a request that the key may not make now. */
  const callerOf = async (workspaceId: string, payer: Payer): Promise<Caller> => {
    const { email, keyId, limits } = payer;
    if (payer.isPart !== true || limits.requests_per_minute === undefined)
      return { workspaceId, email, keyId, limits };
    const { requests_per_minute: requests } = await deps.allowances.remaining(payer, new Date());
    if (requests?.remaining === 0)
      throw new ServiceError('too-many-requests', 'The API key has used up its requests of this minute');
    const { requests_per_minute: _, ...others } = limits;
    return { workspaceId, email, keyId, limits: others };
  };

  return {
    async current() {
      const catalogue = await deps.catalogue.current();
      const model = catalogue.byId.get(catalogue.defaults.embeddings);
      return model === undefined ? LOCAL_EMBEDDING_MODEL.id : nameOf(model);
    },

    async embed({ model: name, workspaceId, texts, payer = NOBODY }, signal) {
      if (name === LOCAL_EMBEDDING_MODEL.id) return toRows(await deps.embed(texts, signal), texts.length);
      const { models } = await deps.catalogue.current();
      const model = models.find((each) => each.endpoints.includes('embeddings') && nameOf(each) === name);
      if (model === undefined) throw new ServiceError('not-found', `The model ${name} is not configured`);
      const served = await deps.service.serve({
        endpoint: 'embeddings',
        request: new GatewayRequest({ model: model.id, input: [...texts], encoding_format: 'float' }),
        caller: await callerOf(workspaceId, payer),
        signal,
      });
      if (served.kind === 'stream') {
        await served.body.cancel();
        throw upstreamFailed(EMBEDDINGS_NONE);
      }
      if (served.status !== 200) throw failureOf(served);
      if (!isAnsweredBy(model, served.headers[TARGET_HEADER]))
        throw upstreamFailed(`A fallback has answered for the model ${name}`);
      return readVectors(served.bytes, texts.length);
    },
  };
}

/** A model is what answers under its name: where upstreams know it by other names, these say when it has changed. */
function nameOf({ id, targets }: Model): string {
  const names = [...new Set(targets.map(({ target }) => target.model))].sort();
  return names.every((each) => each === id) ? id : `${id} (${names.join(', ')})`;
}

/** An answer from the cache may be a fallback's, where there is one. */
const isAnsweredBy = ({ targets, fallbacks }: Model, answering: string | undefined): boolean =>
  fallbacks.length === 0 ||
  (answering ?? '').split(', ').every((each) => targets.some(({ target }) => target.headerName === each));

const failureOf = (served: Extract<Served, { kind: 'whole' }>): ServiceError => {
  const refusal = refusalOf(served);
  return REFUSING.has(served.status) ? new ServiceError('malformed', refusal.message) : refusal;
};

/** Throws `upstream-failed` for an answer without one vector of numbers for each text, all of one length. */
async function readVectors(bytes: Uint8Array, count: number): Promise<ArrayLike<number>[]> {
  const vectors: Float32Array[] = [];
  try {
    const { data } = await parseAnswer(bytes);
    for (const [position, row] of (data as JsonObject[]).entries()) {
      const { index = position, embedding } = row;
      vectors[Number(index)] = toVector(embedding);
    }
  } catch (error) {
    throw upstreamFailed(EMBEDDINGS_NONE, { cause: error });
  }
  const length = vectors[0]?.length ?? 0;
  const isWhole = Array.from({ length: count }, (_, index) => vectors[index]?.length === length);
  if (length > 0 && vectors.length === count && isWhole.every(Boolean)) return vectors;
  throw upstreamFailed(`The upstream answered ${count} texts with other than ${count} vectors of one length`);
}

/** A list of numbers, or base64 of little-endian f32, which some upstreams always give. */
function toVector(embedding: unknown): Float32Array {
  const vector =
    typeof embedding === 'string'
      ? new Float32Array(Uint8Array.from(Buffer.from(embedding, 'base64')).buffer)
      : Float32Array.from(embedding as readonly number[], toComponent);
  if (!vector.every(Number.isFinite)) throw new Error('a component is no number');
  return vector;
}

/** Of a number with more digits than a double surely keeps, as those of Python in the form 5.882193727302365e-05, the text is kept. */
const toComponent = (value: unknown): number => Number(isRawNumber(value) ? value.rawJSON : value);

function toRows(vectors: Float32Array, count: number): Float32Array[] {
  const { dimensions } = LOCAL_EMBEDDING_MODEL;
  return Array.from({ length: count }, (_, index) =>
    vectors.subarray(index * dimensions, (index + 1) * dimensions),
  );
}
