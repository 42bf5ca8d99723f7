// Ceilings of the bots.

/** What the platform gives a bot before it calls the event failed. */
const PLATFORM_TIMEOUT_MS = 30_000;

/** For the conversation to answer, counted from when the event was read. */
export const ANSWER_TIMEOUT_MS = 22_000;

/** For a key set to arrive whole, and its largest size. */
export const KEY_SET_TIMEOUT_MS = 3_000;
export const KEY_SET_BYTES_MAX = 262_144;
export const KEYS_IN_SET_MAX = 100;

/** For the addresses of a key set's URL to be found while a bot is registered. */
export const LOOKUP_TIMEOUT_MS = 2_000;

/** Time for which a key set is used without asking for it again. */
export const KEY_SET_TTL_MS = 3_600_000;

/** While its URL is down, an outdated key set is used for at most this long. */
export const KEY_SET_OUTAGE_MS_MAX = 86_400_000;

/** Pause before a URL that failed is asked again: with a key set at hand, and without. */
export const KEY_SET_RETRY_MS = 30_000;
export const KEY_SET_FIRST_RETRY_MS = 1_000;

/** Pause between two looks for a key that a current key set does not have. */
export const UNKNOWN_KEY_PAUSE_MS = 10_000;

/** Key sets that a process remembers. */
export const KEY_SETS_MAX = 1_000;

/** Longest token that is looked at; a platform's has about a thousand characters. */
export const TOKEN_LENGTH_MAX = 16_384;

/** By how much the platform's clock may be ahead of ours. */
export const CLOCK_TOLERANCE_SECONDS = 10;

/** Bits of a key: fewer are unsafe (RFC 7518, 3.3), more make a check slow. */
export const KEY_BITS_MIN = 2_048;
export const KEY_BITS_MAX = 8_192;

/** Bots that a process remembers; at most for this long, should a notice of a change be lost. */
export const CACHED_BOTS_MAX = 10_000;
export const CACHE_TTL_MS = 30_000;

/** Longest name of a workspace. */
export const WORKSPACE_LENGTH_MAX = 63;

/** Largest text of a message, in bytes of UTF-8. */
export const TEXT_BYTES_MAX = 32_000;

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

/** Longest name that stands as it is for a message or a session of the chat; longer ones are hashed. */
export const KEY_LENGTH_MAX = 255;

/** Longest text that is made of a click on a card. */
export const CLICK_LENGTH_MAX = 4_000;

/** What may pass before the answer is waited for: the key set, the look-up of a key. */
const LOOKUPS_MS_MAX = KEY_SET_TIMEOUT_MS + 2_000;

if (LOOKUPS_MS_MAX + ANSWER_TIMEOUT_MS >= PLATFORM_TIMEOUT_MS) {
  throw new Error('a bot has to answer before the platform gives up');
}
