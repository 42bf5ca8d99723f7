import type { Principal } from './principal.ts';

/** The built-in embedding model: hashed character n-grams. It finds texts that share words or parts of words. */
export const LOCAL_EMBEDDING_MODEL = { id: 'local-multilingual-e1', dimensions: 384 } as const;

/**
 * Turns texts into vectors of unit length: row-major, one row of the model's dimensions a text, in the texts' order.
 * Throws a `ServiceError` `unavailable` when the queue is full; the signal's reason when it aborts.
 */
export type EmbedTexts = (texts: readonly string[], signal: AbortSignal) => Promise<Float32Array>;

/** Whose limits count, and whose usage it is; absent: the workspace's. */
export type Payer = Pick<Principal, 'email' | 'keyId' | 'limits'> & {
  /** It belongs to a request of theirs that counts later: its tokens and its cost count, and where no request is left it is refused. */
  isPart?: boolean;
};

/** The embedding models of the catalogue, for areas that keep vectors. */
export type Embeddings = {
  /**
   * The model that texts are embedded by now: the catalogue's default of embeddings, by its name and, where they differ from
   * it, the names that its upstreams know it by. Vectors of two such models cannot be compared.
   */
  current(): Promise<string>;
  /**
   * One vector a text, in their order, all of one length, which need not be a unit's. An upstream's use counts for the payer.
   * Throws a `ServiceError`: `not-found` for a model that is not in the catalogue any more, `malformed` where the
   * model refuses the texts, `too-many-requests`, `upstream-failed`, `upstream-timeout`, `unavailable`; the signal's reason
   * when it aborts.
   */
  embed(
    request: { model: string; workspaceId: string; texts: readonly string[]; payer?: Payer | undefined },
    signal: AbortSignal,
  ): Promise<ArrayLike<number>[]>;
};
