// Limits of the index of vectors.

/** The kernel's sums of products do not overflow below. */
export const DIMENSIONS_MAX = 8192;

/** Components of a query are integers up to this one: twelve bits, so that only the vectors themselves are rounded much. */
export const QUERY_COMPONENT_MAX = 2047;

/** Memory is given to workspaces in slabs of this size. */
export const SLAB_BYTES = 65_536;

/** Scans that read the memory together; each has a part of the scratch for its query, its results and its bitmap. */
export const SCANS_MAX = 8;
export const SCRATCH_BYTES = 2_097_152;

/** Vectors that one scan finds at most; where more are asked for, another scan goes on behind them. */
export const FOUND_MAX = 10_000;

/** Passages that are embedded at a time, and stored before the next: what is lost where a process ends. */
export const EMBEDDED_AT_ONCE = 64;

/** One call of a model for them, its retries included. */
export const EMBEDDING_CALL_MS_MAX = 120_000;

/** UTF-16 code units down to which a text is shortened that a model refuses. */
export const REFUSED_LENGTH_MIN = 100;

/** After this time the job of a process that died is given to another; it is renewed while the job runs. */
export const EMBEDDING_LEASE_MS = 10_000;

/** How often to look for jobs that another process queued, and, of those that catch up, for any. */
export const EMBEDDING_POLL_MS = 5000;
export const EARLIER_EMBEDDING_POLL_MS = 60_000;

/** Documents whose vectors by an earlier model one statement deletes. */
export const SUPERSEDED_DOCUMENTS_A_STATEMENT = 50;
