// Limits of the compute area, and the time-outs of its work.

export const N_DEFAULT = 42;
/** The computation takes most of a minute. */
export const N_MAX = 50;
/** Up to this number, which takes about two milliseconds, a computation does not wait behind longer ones. */
export const SHORT_N_MAX = 30;

/** Ten times the duration of the longest computation, for shared processors. Includes the wait for a thread. */
export const FIBONACCI_MS_MAX = 600_000;

export const EMBEDDING_MS_MAX = 20_000;
/** Texts of one part of a list: about half a millisecond of work, unless they are long. */
export const PART_TEXTS_MAX = 64;
/**
 * A text up to here is embedded without a thread, which would take 65 µs to ask: a question takes 3, the longest one 30, and half a
 * millisecond where each of its characters stands for eighteen.
 */
export const CHARACTERS_AT_ONCE_MAX = 256;

/**
 * Below the thread that answers requests (0), and short work above long work: where they compete, the system gives each step of
 * five about three times the time of the next.
 */
export const SHORT_NICENESS = 10;
export const LONG_NICENESS = 15;
