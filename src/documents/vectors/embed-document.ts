// A job's work: the passages of a document get their vectors. What is stored is not made again: a job that was cut off goes
// on where it was, and texts that the document has had before, or another one of its workspace has, cost nothing.

import { LRUCache } from 'lru-cache';
import type { Embeddings } from '../../core/embed-texts.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { abortable } from '../../core/wait.ts';
import type { JobOutcome } from '../../infra/postgres/job-queue.ts';
import {
  DIMENSIONS_MAX,
  EMBEDDED_AT_FIRST,
  EMBEDDED_AT_ONCE,
  EMBEDDING_CALL_MS,
  EMBEDDING_CALL_MS_MAX,
  FAILED_SIZE_MS,
  REFUSED_LENGTH_MIN,
} from './limits.ts';
import { quantise } from './quantise.ts';
import type { createVectorStore, NewVector, PassageText, StoredModel, ToEmbed } from './store.ts';

export type EmbedDocumentDeps = {
  store: ReturnType<typeof createVectorStore>;
  embeddings: Embeddings;
  /** One permit: a process embeds one document at a time. */
  turns: Semaphore;
  /** How long a document has its turn with a model, in milliseconds. */
  turnMs: number;
  log: Logger;
  /** Aborts at the end of the service. */
  ending: AbortSignal;
};

/** A text that every model takes. */
const HARMLESS = 'text';

/** A text that has no vector in its workspace, and the passages that have it. */
type Missing = { hash: string; text: string; passageIds: PassageText['id'][] };

export function createEmbedDocument(deps: EmbedDocumentDeps) {
  const { store, embeddings } = deps;
  /**
   * How many texts a call of each model has. A slow model gets few: with many it would not answer before its upstream times out,
   * however often it is asked, and the questions of searches would wait behind a long call. Sizes that failed are not tried again
   * for a while.
   */
  const batchSizes = new Map<string, number>();
  const failedSizes = new LRUCache<string, number>({ max: 100, ttl: FAILED_SIZE_MS });
  const batchSizeOf = (name: string): number => batchSizes.get(name) ?? EMBEDDED_AT_FIRST;

  return (id: string): Promise<JobOutcome> => deps.turns.run(() => embedOne(id));

  async function embedOne(id: string): Promise<JobOutcome> {
    const current = await embeddings.current();
    const document = await store.begin(id, current);
    if (document === undefined) return 'done';
    const { answering } = document;
    // While another model comes to replace it, the one that answers gets new documents, too, as long as it can be called.
    const former = answering === null || answering === current ? undefined : await store.findModel(answering);
    if (former !== undefined) {
      const byFormer = { ...document, model: former };
      if ((await embedByFormer(byFormer, former.name)) === 'again') return 'again';
    }
    // What the former one could not finish is of no use: nothing would delete it after the change.
    const outcome = await embedBy(document, current);
    // What catches up has left the document to this job.
    return (await embeddings.current()) === current ? outcome : { retry: 'the model has changed meanwhile' };
  }

  async function embedByFormer(document: ToEmbed, name: string): Promise<JobOutcome> {
    const present = await store.findModel(await embeddings.current());
    try {
      return await embedBy(document, name, present?.id);
    } catch (error) {
      deps.log.warn(
        { document: document.id, model: name, err: error },
        'a document is not embedded by the model that is being replaced',
      );
      return 'done';
    }
  }

  /** Vectors by the model `unfinished`, which comes next, stay although they are incomplete. */
  async function embedBy(document: ToEmbed, name: string, unfinished?: number): Promise<JobOutcome> {
    const until = performance.now() + deps.turnMs;
    let { model } = document;
    let more = true;
    for (let after = -1; more; ) {
      const passages = await store.passagesAfter(document, {
        modelId: model?.id ?? 0,
        after,
        limit: EMBEDDED_AT_ONCE,
      });
      more = passages.length === EMBEDDED_AT_ONCE;
      after = passages.at(-1)?.passage ?? after;
      let copies = copiesOf(passages);
      let missing = missingOf(passages);
      while (copies.length > 0 || missing.length > 0) {
        const some = missing.slice(0, batchSizeOf(name));
        model = await embedSome({ ...document, model }, name, { copies, some });
        copies = [];
        missing = missing.slice(some.length);
        if (performance.now() >= until) return 'again';
      }
    }
    // Its passages have been removed meanwhile.
    if (model === undefined) return 'done';
    const kept = unfinished === undefined ? [model.id] : [model.id, unfinished];
    const completion = await store.complete(document, model.id, kept);
    return completion === 'complete' ? 'done' : { retry: 'the document has changed meanwhile' };
  }

  async function embedSome(
    document: ToEmbed,
    name: string,
    { copies, some }: { copies: readonly NewVector[]; some: readonly Missing[] },
  ): Promise<StoredModel | undefined> {
    const { vectors, dimensions } = await embedTexts(
      { ...document, name },
      some.map(({ text }) => text),
    );
    const model = document.model ?? (dimensions === undefined ? undefined : await addModel(name, dimensions));
    if (model === undefined) return undefined;
    const made = some.flatMap(({ hash, passageIds }, index) => {
      const vector = toStored(vectors[index], model);
      return passageIds.map((passageId): NewVector => ({ passageId, hash, vector }));
    });
    await store.put(document, model.id, [...copies, ...made]);
    return model;
  }

  async function addModel(name: string, dimensions: number): Promise<StoredModel> {
    if (dimensions > DIMENSIONS_MAX)
      throw new Error(`the model ${name} has ${dimensions} dimensions, more than ${DIMENSIONS_MAX}`);
    return store.addModel(name, dimensions);
  }

  /**
   * A vector is undefined for a text that the model refuses, however little of it is given, though it takes another one. Throws where
   * it refuses every text.
   */
  async function embedTexts(
    { workspaceId, name }: { workspaceId: string; name: string },
    texts: readonly string[],
  ): Promise<{ vectors: (ArrayLike<number> | undefined)[]; dimensions: number | undefined }> {
    const refusals: unknown[] = [];
    const embed = async (some: readonly string[]): Promise<(ArrayLike<number> | undefined)[]> => {
      if (some.length === 0) return [];
      const startedAt = performance.now();
      try {
        const signal = AbortSignal.any([deps.ending, AbortSignal.timeout(EMBEDDING_CALL_MS_MAX)]);
        const asked = embeddings.embed({ model: name, workspaceId, texts: some }, signal);
        const vectors = await abortable(asked, signal);
        if (vectors.length !== some.length)
          throw new Error(
            `the model ${name} has answered ${some.length} texts with ${vectors.length} vectors`,
          );
        const fitting = (some.length * EMBEDDING_CALL_MS) / Math.max(1, performance.now() - startedAt);
        const most = (failedSizes.get(name) ?? EMBEDDED_AT_ONCE + 1) - 1;
        batchSizes.set(name, Math.max(1, Math.floor(Math.min(fitting, 2 * batchSizeOf(name), most))));
        return vectors;
      } catch (error) {
        batchSizes.set(name, Math.max(1, Math.floor(some.length / 4)));
        failedSizes.set(name, some.length);
        if (!(error instanceof ServiceError && error.kind === 'malformed')) throw error;
        refusals.push(error);
        const [only = ''] = some;
        const middle = Math.ceil(some.length / 2);
        if (some.length > 1)
          return [...(await embed(some.slice(0, middle))), ...(await embed(some.slice(middle)))];
        // Its limit may be lower than the length of a passage: the beginning stands for the whole.
        if (only.length > REFUSED_LENGTH_MIN) return embed([only.slice(0, only.length / 2).toWellFormed()]);
        return [undefined];
      }
    };
    const vectors = await embed(texts);
    let known = vectors.find((vector) => vector !== undefined);
    if (known === undefined && refusals.length > 0) {
      [known] = await embed([HARMLESS]);
      if (known === undefined) throw refusals.at(-1);
    }
    return { vectors, dimensions: known?.length };
  }
}

/** What passages have from equal texts. */
const copiesOf = (passages: readonly PassageText[]): NewVector[] =>
  passages.flatMap(({ id, hash, known }) => (known === null ? [] : [{ passageId: id, hash, vector: known }]));

function missingOf(passages: readonly PassageText[]): Missing[] {
  const missing = new Map<string, Missing>();
  for (const { id, hash, text, embedded, known } of passages) {
    if (embedded || known !== null) continue;
    const equal = missing.get(hash);
    if (equal === undefined) missing.set(hash, { hash, text, passageIds: [id] });
    else equal.passageIds.push(id);
  }
  return [...missing.values()];
}

/** A text without a vector is stored as zeros, which no query is near to. Throws where the model answers vectors of another length than before. */
function toStored(vector: ArrayLike<number> | undefined, { name, dimensions }: StoredModel): Buffer {
  if (vector === undefined) return quantise(new Float32Array(dimensions));
  if (vector.length === dimensions) return quantise(vector);
  throw new Error(`the model ${name} answers ${vector.length} dimensions, and has answered ${dimensions}`);
}
