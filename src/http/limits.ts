// Ceilings of every request, whatever the area.

/** Largest JSON body of an ordinary request: metadata, not files. */
export const JSON_BODY_BYTES_MAX = 1_048_576;

/** Bodies of all requests together, in one process: beyond, 503. What is made of them takes several times as much. */
export const BODIES_BYTES_MAX = 268_435_456;

/** Bodies up to this size are counted when they are announced; larger ones as they arrive. */
export const SMALL_BODY_BYTES = 65_536;

/** How many times its size a compressed body may inflate to: JSON reaches 10 to 50, a bomb 1,000. */
export const INFLATION_RATIO_MAX = 100;
/** A small body may inflate further, up to this. */
export const INFLATED_BYTES_ALWAYS_TAKEN = 65_536;

/** For the whole of a body to arrive: one that stalls or drips does not hold a request open. */
export const BODY_TIMEOUT_MS = 30_000;

/** Arrays and objects inside one another in a JSON body. */
export const JSON_NESTING_MAX = 64;

/** Values in the JSON body of an ordinary request (members and items): each may take a hundred bytes of memory. */
export const JSON_VALUES_MAX = 50_000;

/** Parameters of one query string. */
export const PARAMETERS_MAX = 1000;

/** Mistakes that one answer tells: more are of no use to anyone, and each is many times what caused it. */
export const MISTAKES_MAX = 1000;

/** Seconds without a byte in either direction after which a connection is closed. */
export const IDLE_TIMEOUT_SECONDS = 120;

/**
 * Bytes of a request's line and headers together: a URL may hold hundreds of filters. More is answered 431 by the server
 * itself, and a head that is not finished within its own twelve seconds is closed: it holds this much and for that long.
 */
export const HEAD_BYTES_MAX = 65_536;
