// Limits of the index of vectors.

/** The kernel's sums of products do not overflow below. */
export const DIMENSIONS_MAX = 8192;

/** Components of a query are integers up to this one: twelve bits, so that only the vectors themselves are rounded much. */
export const QUERY_COMPONENT_MAX = 2047;

/** Vectors of equal texts, also of other workspaces, that are looked at for one of the passage's own. */
export const EQUAL_TEXTS_MAX = 200;

/** Passages that are embedded at a time, and stored before the next ones: at most, and until it is known how fast a model is. */
export const EMBEDDED_AT_ONCE = 64;
export const EMBEDDED_AT_FIRST = 8;

/**
 * How long one call of a model for them should take, and may take, its retries included. A question waits for at most one of them at
 * an upstream that does one after the other (QUERY_EMBEDDING_MS_MAX).
 */
export const EMBEDDING_CALL_MS = 2000;
export const EMBEDDING_CALL_MS_MAX = 120_000;

/** How long a model that has failed is not given as many texts again. */
export const FAILED_SIZE_MS = 600_000;

/** After this time a document lets others have their turn, and goes on later. */
export const EMBEDDING_TURN_MS = 30_000;

/** UTF-16 code units down to which a text is shortened that a model refuses. */
export const REFUSED_LENGTH_MIN = 100;

/** After this time the job of a process that died is given to another; it is renewed while the job runs. */
export const EMBEDDING_LEASE_MS = 10_000;

/** How often to look for jobs that another process queued or had in hand when it was killed, or that are to be tried again. */
export const EMBEDDING_POLL_MS = 5000;

/** Documents whose vectors by an earlier model one statement deletes. */
export const SUPERSEDED_DOCUMENTS_A_STATEMENT = 50;

/** Below the thread that answers requests, above work for which no request waits. */
export const SEARCH_NICENESS = 5;

/** The most that the vectors of one workspace may take: the linear memory of WASM ends at 4 GiB. */
export const SPACE_BYTES_MAX = 4_000_000_000;

/** How long the thread may take to open, and to answer; a scan of a million vectors takes tens of milliseconds. */
export const THREAD_OPEN_MS_MAX = 10_000;
export const THREAD_ANSWER_MS_MAX = 20_000;

/** Vectors that come from the database at a time. */
export const LOADED_AT_ONCE = 2000;

/** Documents whose vectors are removed at a time. */
export const DOCUMENTS_A_PAGE = 1000;

/** How long a search waits for vectors that are being loaded; then it goes without, and they are there for a later one. */
export const LOAD_WAIT_MS = 1000;

/** Vectors of a workspace that were used so recently are not given up for those of another one. */
export const KEPT_MS_MIN = 60_000;

/** After vectors had no room, they are not counted again before this time. */
export const NO_ROOM_MS = 10_000;

/** How long a search waits for the vector of its question; then it goes without vectors. */
export const QUERY_EMBEDDING_MS_MAX = 5000;

/** Vectors of questions that are kept for repetition, and the UTF-16 code units of the longest one that is. */
export const QUERIES_KEPT_MAX = 500;
export const QUERY_KEPT_LENGTH_MAX = 2000;

/** Passages that are looked for in a graph; more are found by comparing all. */
export const GRAPH_FOUND_MAX = 1000;

/** What pgvector's index takes of numbers with 16 bits. */
export const GRAPH_DIMENSIONS_MAX = 4000;

/** Documents whose vectors come into a new graph by one statement. */
export const GRAPH_DOCUMENTS_AT_ONCE = 50;

/** Memory of the database while it makes a graph: of a million passages of 384 dimensions it takes about a GiB, and is many times slower where it has less. */
export const GRAPH_MEMORY_MIB = 1024;
