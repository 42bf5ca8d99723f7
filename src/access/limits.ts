// Ceilings of the access area.

/** Time for which a principal may be cached. A revocation drops it at once; this bounds the effect of a lost notification. */
export const PRINCIPAL_TTL_MS = 30_000;

/** Entries of the cache of keys, and of that of portal sessions, in a process. */
export const PRINCIPALS_MAX = 50_000;

/** Time-out of the look-up of a key. */
export const LOOKUP_TIMEOUT_MS = 2_000;

/** Time after a failed look-up in which keys that were valid before are not looked up again. */
export const COOLDOWN_MS = 1_000;

/**
 * Longest outage of the database in which keys that were valid before are still accepted, by operations that allow it. In
 * that time a key can be revoked only through another process that still reaches the database.
 */
export const OUTAGE_MS_MAX = 3_600_000;

/** A key's last use is written at most this often. */
export const LAST_USE_INTERVAL_MS = 60_000;

/** Delay within which uses of keys are collected into one batch. */
export const LAST_USE_DELAY_MS = 1_000;

/** Lifetime of a portal session. */
export const SESSION_SECONDS = 12 * 3600;

/** Interval between two removals of ended portal sessions. */
export const SESSION_SWEEP_MS = 600_000;

/** Interval between two removals of old rows of the audit log, and how many rows one statement removes. */
export const AUDIT_SWEEP_MS = 3_600_000;
export const AUDIT_SWEEP_ROWS = 10_000;
export const DAY_MS = 86_400_000;
/** Time within which a one-time link has to be opened. */
export const LINK_SECONDS = 900;

/** Time within which a person has to come back from the provider of single sign-on. */
export const FLIGHT_SECONDS = 600;

/** Time-out of each request to the provider, and how many sign-ins may wait for it at once in a process. */
export const PROVIDER_TIMEOUT_SECONDS = 5;
export const SIGN_ONS_MAX = 32;

/** Time for which the provider's description of itself is used, and the pause after a later one could not be read. */
export const PROVIDER_TTL_MS = 3_600_000;
export const PROVIDER_RETRY_MS = 60_000;

/** Difference of the provider's clock that is tolerated. */
export const SIGN_ON_CLOCK_SKEW_SECONDS = 30;

/** Size of each answer of the provider: its description, its keys, the tokens, and the claims of the UserInfo endpoint. */
export const PROVIDER_ANSWER_BYTES_MAX = 1_048_576;

/** Limits of a key that single sign-on makes, where `OIDC_ROLES` states none. */
export const SIGN_ON_LIMITS = { requests_per_minute: 120, tokens_per_minute: 500_000 };

/** Lengths of what a provider says of a person: the subject (OpenID Connect Core, 2), and a name. */
export const SUBJECT_LENGTH_MAX = 255;
export const PERSON_NAME_LENGTH_MAX = 200;

/** Sign-ins of one key, or of one person of a provider, in a process: at once, and in each minute after that. */
export const SIGN_INS_AT_ONCE = 120;
export const SIGN_INS_PER_MINUTE = 12;

/** Rows of the audit log about refused sign-ins that a process writes in a minute; the next row counts the others. */
export const REFUSED_SIGN_INS_PER_MINUTE = 60;

/** Delay of the answer to the first failed sign-in; it doubles with each further one. */
export const SIGN_IN_DELAY_MS = 50;
export const SIGN_IN_DELAY_MS_MAX = 3_000;

/** Time after the last failure in which earlier ones count. */
export const SIGN_IN_FAILURES_SECONDS = 60;

/** Failed sign-ins of a process whose answers are delayed at once; beyond, 429. */
export const SIGN_IN_DELAYS_MAX = 32;

/** Length of the name of a browser that is kept with a session. */
export const USER_AGENT_LENGTH_MAX = 300;

/** Keys of one rotation that are remembered with the newest: the first, and the latest. */
export const PREDECESSORS_MAX = 64;

/** Longest time for which a rotated key stays valid. */
export const GRACE_SECONDS_MAX = 7 * 86_400;

/** Length of a key that the operator supplies. */
export const GIVEN_KEY_LENGTH_MIN = 32;
export const GIVEN_KEY_LENGTH_MAX = 512;

/** Size of the body of a sign-in, which is read without a credential: a key, and JSON around it. */
export const SESSION_BODY_BYTES_MAX = 4096;

if (GIVEN_KEY_LENGTH_MAX * 6 > SESSION_BODY_BYTES_MAX) throw new Error('the longest key could not sign in');
