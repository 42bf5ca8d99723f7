// Ceilings of the bots.

/** The platform's time-out for the answer to an event. */
const PLATFORM_TIMEOUT_MS = 30_000;
/** Time-out of the conversation, counted from when the event was read. */
export const ANSWER_TIMEOUT_MS = 22_000;

/** Time-out and largest size of a key set, and the time-out of the look-up of its addresses during a registration. */
export const KEY_SET_TIMEOUT_MS = 3_000;
export const KEY_SET_BYTES_MAX = 262_144;
export const KEYS_IN_SET_MAX = 100;
export const LOOKUP_TIMEOUT_MS = 2_000;
/** Lifetime of a cached key set, and the longest use of one whose URL fails. */
export const KEY_SET_TTL_MS = 3_600_000;
export const KEY_SET_OUTAGE_MS_MAX = 86_400_000;
/** Interval between two fetches for a key id that a current key set does not have. */
export const UNKNOWN_KEY_PAUSE_MS = 10_000;
export const KEY_SETS_MAX = 1_000;
/** Bits of a key: fewer are unsafe (RFC 7518, 3.3), more make the verification slow. */
export const KEY_BITS_MIN = 2_048;
export const KEY_BITS_MAX = 8_192;

/** Longest accepted token; a platform's has about a thousand characters. */
export const TOKEN_LENGTH_MAX = 16_384;
/** Tolerance for a platform's clock that is ahead of ours. */
export const CLOCK_TOLERANCE_SECONDS = 10;
/** Lifetime of the token of a test event, which is verified at once. */
export const TEST_TOKEN_SECONDS = 60;

/** Bots that a process remembers; at most for this long, should a notice of a change be lost. */
export const CACHED_BOTS_MAX = 10_000;
export const CACHE_TTL_MS = 30_000;
export const WORKSPACE_LENGTH_MAX = 63;

/** Largest text of a message, in bytes of UTF-8. */
export const TEXT_BYTES_MAX = 32_000;
/** Longest text of a click on a card. */
export const CLICK_LENGTH_MAX = 4_000;
/** Longest name that is used as a key of a message or a session; longer ones are hashed. */
export const KEY_LENGTH_MAX = 255;

/** Time for which a reply is kept for events that come again; platforms repeat themselves for minutes. */
export const REPLY_RETENTION_MS = 7 * 86_400_000;
export const REPLY_SWEEP_INTERVAL_MS = 3_600_000;
export const REPLY_SWEEP_STEP = 5_000;

/** Of a registration. */
export const COMMANDS_MAX = 100;
export const NAME_LENGTH_MAX = 200;
export const AUDIENCE_LENGTH_MAX = 2_048;
export const KEY_SET_URL_LENGTH_MAX = 2_048;
export const REPLY_LENGTH_MAX = 32_000;

/** Longest time before the conversation begins: the fetch of the key set, and the look-up of an API key. */
const LOOKUPS_MS_MAX = KEY_SET_TIMEOUT_MS + 2_000;

if (LOOKUPS_MS_MAX + ANSWER_TIMEOUT_MS >= PLATFORM_TIMEOUT_MS)
  throw new Error('a bot has to answer before the platform gives up');
