/**
 * Turns texts into vectors of unit length: row-major, one row of the model's dimensions a text, in the texts' order.
 * Throws a `ServiceError` `unavailable` when too much waits already; the signal's reason when it aborts.
 */
export type EmbedTexts = (texts: readonly string[], signal: AbortSignal) => Promise<Float32Array>;
