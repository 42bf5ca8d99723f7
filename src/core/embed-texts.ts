import type { CancelSignal } from './cancellation.ts';

/** The built-in embedding model: hashed character n-grams. It finds texts that share words or parts of words. */
export const LOCAL_EMBEDDING_MODEL = { id: 'local-multilingual-e1', dimensions: 384 } as const;

/**
 * Turns texts into vectors of unit length: row-major, one row of the model's dimensions a text, in the texts' order.
 * Throws a `ServiceError` `unavailable` when the queue is full; the signal's reason when it aborts.
 */
export type EmbedTexts = (texts: readonly string[], signal: CancelSignal) => Promise<Float32Array>;
