// Ceilings of the access area.

/** Time for which a principal may be cached; a revocation drops it at once, this bounds what a lost one costs. */
export const PRINCIPAL_TTL_MS = 30_000;

/** Keys, and portal sessions, that a process remembers. */
export const PRINCIPALS_MAX = 50_000;

/** Longest wait for the database to say what a key is worth. */
export const LOOKUP_TIMEOUT_MS = 2_000;

/** Time for which a database that did not answer is not asked again about keys that were good before. */
export const AWAY_MS = 1_000;

/**
 * Outage of the database for which usage events are taken with the keys that were good before. No key can be
 * revoked meanwhile, but through another process that still reaches it.
 */
export const OUTAGE_MS_MAX = 3_600_000;

/** A key's last use is written at most this often. */
export const LAST_USE_INTERVAL_MS = 60_000;

/** Time that uses of keys wait for others, to be written together. */
export const LAST_USE_DELAY_MS = 1_000;

/** Lifetime of a portal session. */
export const SESSION_SECONDS = 12 * 3600;

/** Pause between two removals of portal sessions that are over. */
export const SESSION_SWEEP_MS = 600_000;

/** Longest time for which a rotated key stays valid. */
export const GRACE_SECONDS_MAX = 7 * 86_400;

/** Length of a key that is given, not made here. */
export const GIVEN_KEY_LENGTH_MIN = 32;
export const GIVEN_KEY_LENGTH_MAX = 512;

/** The body of a sign-in, which is read without a credential: a key, and JSON around it. */
export const SESSION_BODY_BYTES_MAX = 4096;

if (GIVEN_KEY_LENGTH_MAX * 6 > SESSION_BODY_BYTES_MAX) throw new Error('the longest key could not sign in');
