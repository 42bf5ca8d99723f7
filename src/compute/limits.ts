// Limits of the compute area, and the time-outs of its work.

export const N_DEFAULT = 42;
/** The computation takes most of a minute. */
export const N_MAX = 50;
/** Up to this number, which takes about two milliseconds, a computation does not wait behind longer ones. */
export const SHORT_N_MAX = 30;

/** Longest wait in the queue; beyond, a retry is better. */
export const FIBONACCI_WAIT_MS_MAX = 120_000;
/** Ten times the duration of the longest computation, for shared processors. */
export const FIBONACCI_RUN_MS_MAX = 600_000;

export const EMBEDDING_WAIT_MS_MAX = 20_000;
export const EMBEDDING_RUN_MS_MAX = 20_000;
/** Texts of one part of a list, and their characters: about half a millisecond of work, except for longer texts. */
export const PART_TEXTS_MAX = 64;
export const PART_CHARACTERS_MAX = 32_768;
/**
 * A text up to here is embedded without a thread, which would take 65 µs to ask: a question takes 3, the longest one 30, and half a
 * millisecond where each of its characters stands for eighteen.
 */
export const CHARACTERS_AT_ONCE_MAX = 256;
