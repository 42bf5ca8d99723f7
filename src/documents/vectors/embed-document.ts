// A job's work: the passages of a document get their vectors. What is stored is not made again: a job that was cut off goes
// on where it was, and texts that the document has had before cost nothing.

import { createHash } from 'node:crypto';
import type { Embeddings } from '../../core/embed-texts.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import { abortable } from '../../core/wait.ts';
import type { JobOutcome } from '../../infra/postgres/job-worker.ts';
import { DIMENSIONS_MAX, EMBEDDED_AT_ONCE, EMBEDDING_CALL_MS_MAX, REFUSED_LENGTH_MIN } from './limits.ts';
import type { Pace } from './pace.ts';
import { quantise } from './quantise.ts';
import type { NewVector, PassageText, StoredModel, ToEmbed, VectorStore } from './store.ts';

export type EmbedDocumentDeps = {
  store: Pick<
    VectorStore,
    'findModel' | 'addModel' | 'begin' | 'passagesAfter' | 'vectorsByHash' | 'put' | 'complete'
  >;
  embeddings: Embeddings;
  /** One permit: a process embeds one document at a time. */
  turns: Semaphore;
  /** How long a document has its turn with a model, in milliseconds. */
  turnMs: number;
  pace: Pace;
  log: Logger;
  /** Aborts at the end of the service. */
  ending: AbortSignal;
};

/** What is embedded of a passage: its text below the headings that it stands under. */
const textToEmbed = ({ heading, text }: Pick<PassageText, 'heading' | 'text'>): string =>
  heading === null ? text : `${heading}\n${text}`;

/** A text that every model takes. */
const HARMLESS = 'text';

/** A passage that has no vector of its present text. */
type Missing = { passageId: PassageText['id']; text: string; hash: string };

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

export function createEmbedDocument(deps: EmbedDocumentDeps) {
  const { store, embeddings, pace } = deps;

  return (id: string): Promise<JobOutcome> => deps.turns.run(() => embedOne(id));

  async function embedOne(id: string): Promise<JobOutcome> {
    const current = await embeddings.current();
    const document = await store.begin(id, current);
    if (document === undefined) return 'done';
    const { answering } = document;
    // While another model comes to replace it, the one that answers gets new documents, too, as long as it can be called.
    const former = answering === null || answering === current ? undefined : await store.findModel(answering);
    if (former !== undefined) {
      const byFormer = { ...document, model: former, hasVectors: true };
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
    let { model, hasVectors } = document;
    let more = true;
    for (let after = -1; more; ) {
      const passages = await store.passagesAfter(document.id, {
        modelId: model?.id ?? 0,
        after,
        limit: EMBEDDED_AT_ONCE,
      });
      more = passages.length === EMBEDDED_AT_ONCE;
      after = passages.at(-1)?.passage ?? after;
      let missing = missingOf(passages);
      while (missing.length > 0) {
        const some = missing.slice(0, pace.sizeOf(name));
        model = await embedSome({ ...document, model, hasVectors }, name, some);
        hasVectors = true;
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
    missing: readonly Missing[],
  ): Promise<StoredModel | undefined> {
    const { model, hasVectors } = document;
    const known =
      model === undefined || !hasVectors
        ? new Map<string, Buffer>()
        : await store.vectorsByHash(
            document.id,
            model.id,
            missing.map(({ hash }) => hash),
          );
    const unknown = missing.filter(({ hash }) => !known.has(hash));
    const { vectors: made, dimensions } = await embedTexts(
      { ...document, name },
      unknown.map(({ text }) => text),
    );
    const kept = model ?? (dimensions === undefined ? undefined : await addModel(name, dimensions));
    if (kept === undefined) return undefined;
    for (const [index, { hash }] of unknown.entries()) known.set(hash, toStored(made[index], kept));
    const vectors = missing.map(
      ({ passageId, hash }): NewVector => ({ passageId, hash, vector: known.get(hash) ?? Buffer.alloc(0) }),
    );
    await store.put(document, kept.id, vectors);
    return kept;
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
        pace.took(name, some.length, performance.now() - startedAt);
        return vectors;
      } catch (error) {
        pace.failed(name, some.length);
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

function missingOf(passages: readonly PassageText[]): Missing[] {
  const all = passages.map((passage) => ({ ...passage, text: textToEmbed(passage) }));
  return all
    .map(({ id, hash, text }) => ({ passageId: id, stored: hash, text, hash: hashOf(text) }))
    .filter(({ stored, hash }) => stored !== hash);
}

/** A text without a vector is stored as zeros, which no query is near to. Throws where the model answers vectors of another length than before. */
function toStored(vector: ArrayLike<number> | undefined, { name, dimensions }: StoredModel): Buffer {
  if (vector === undefined) return quantise(new Float32Array(dimensions));
  if (vector.length === dimensions) return quantise(vector);
  throw new Error(`the model ${name} answers ${vector.length} dimensions, and has answered ${dimensions}`);
}
