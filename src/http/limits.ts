// Limits of requests in all areas.

/** Largest JSON body of an ordinary request: metadata, not files. */
export const JSON_BODY_BYTES_MAX = 1_048_576;

/** Bodies of all requests of one process; beyond, 503. Their parsed values take several times as much memory. */
export const BODIES_BYTES_MAX = 268_435_456;

/** Bodies up to this size are counted by their content-length; larger ones as they arrive. */
export const SMALL_BODY_BYTES = 65_536;

/** Largest ratio of the inflated size of a body to its compressed size: JSON reaches 10 to 50, a bomb 1,000. */
export const INFLATION_RATIO_MAX = 100;
/** A small body may inflate up to this size, at any ratio. */
export const INFLATED_BYTES_ALWAYS_TAKEN = 65_536;

/**
 * Time-out of a body, so that a slow or stalled client does not hold a request open: for its first bytes, and between two. A body of
 * more than SMALL_BODY_BYTES has more time in all, as much as it takes at the slowest rate.
 */
export const BODY_TIMEOUT_MS = 30_000;
export const BODY_BYTES_PER_SECOND_MIN = 32_768;

/** A body that has been arriving for so long gives way where newer ones need its memory. */
export const BODY_GIVES_WAY_MS = 5000;

/** Depth of nested arrays and objects in a JSON body. */
export const JSON_NESTING_MAX = 64;

/** Values in the JSON body of an ordinary request (members and items): each may take a hundred bytes of memory. */
export const JSON_VALUES_MAX = 50_000;

/** Parameters of one query string. */
export const PARAMETERS_MAX = 1000;

/** Mistakes in one answer. Each is many times as large as its cause, so their number bounds the answer. */
export const MISTAKES_MAX = 1000;

/** Idle time-out of a connection: seconds without a byte in either direction. */
export const IDLE_TIMEOUT_SECONDS = 120;

/**
 * The same once an operation without an idle time-out has begun to answer: a caller that reads nothing of it is cut off. Streams send
 * comments more often.
 */
export const UNREAD_TIMEOUT_SECONDS = 60;

/**
 * Bytes of the request line and the headers together: a URL may hold hundreds of filters. Bun answers 431 to a larger head,
 * and closes a connection whose head is incomplete after twelve seconds.
 */
export const HEAD_BYTES_MAX = 65_536;
