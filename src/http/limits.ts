// Ceilings of every request, whatever the area.

/** Largest JSON body of an ordinary request: metadata, not files. */
export const JSON_BODY_BYTES_MAX = 1_048_576;

/** For the whole of a body to arrive: one that stalls or drips does not hold a request open. */
export const BODY_TIMEOUT_MS = 30_000;

/** Arrays and objects inside one another in a JSON body. */
export const JSON_NESTING_MAX = 64;

/** Mistakes that one answer tells: more are of no use to anyone, and each is many times what caused it. */
export const MISTAKES_MAX = 1000;

/** Seconds without a byte in either direction after which a connection is closed. */
export const IDLE_TIMEOUT_SECONDS = 120;

/**
 * Bytes of a request's line and headers together: a URL may hold hundreds of filters, and a credential of a megabyte is
 * refused as one that is wrong, like any other.
 */
export const HEAD_BYTES_MAX = 1_310_720;
