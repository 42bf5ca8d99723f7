// Ceilings of the compute area, and what its work is given to wait and to run.

export const N_DEFAULT = 42;
/** Most of a minute. */
export const N_MAX = 50;
/** Takes about two milliseconds: up to it, a number waits for no longer one. */
export const SHORT_N_MAX = 30;

/** Somebody who would wait for longer had better come again. */
export const FIBONACCI_WAIT_MS_MAX = 120_000;
/** Ten times what the longest takes, for processors that are shared. */
export const FIBONACCI_RUN_MS_MAX = 600_000;

export const EMBEDDING_WAIT_MS_MAX = 20_000;
export const EMBEDDING_RUN_MS_MAX = 20_000;
/** What one thread takes of a list of texts at once: about half a millisecond of work, but for texts that are longer. */
export const PART_TEXTS_MAX = 64;
export const PART_CHARACTERS_MAX = 32_768;
