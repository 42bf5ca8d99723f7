// Ceilings and times of the gateway; those of an upstream can be set in the models file.

/** Limits of the JSON of a body: a list of tokens is the longest input, and each value may cost a hundred bytes. */
export const BODY_LIMITS = { nestingMax: 513, valuesMax: 524_288, membersMax: 1000 };

/** Longest name of a model that is looked up: none is so long, but a long one is an unknown one. */
export const MODEL_LENGTH_MAX = 1_048_576;
/** Largest prompt and answer that a span shows. */
export const SPAN_CONTENT_BYTES_MAX = 65_536;
/** Members besides `input` that go with each part of a large batch of embeddings. */
export const EMBEDDING_OPTIONS_LENGTH_MAX = 65_536;

/** Largest request for embeddings: several times what providers take (300,000 tokens), and little enough to be parsed in one go. */
export const EMBEDDINGS_BODY_BYTES_MAX = 8_388_608;
/** Largest answer that comes whole, and largest event of a stream. */
export const ANSWER_BYTES_MAX = 67_108_864;
export const EVENT_BYTES_MAX = 16_777_216;

/** A larger error of an upstream is forwarded without its reason; values nested more deeply are omitted. */
export const ERROR_BYTES_MAX = 65_536;
export const ERROR_NESTING_MAX = 16;

/** Answers up to here are checked to be JSON throughout; larger ones at both ends. */
export const CHECKED_BYTES_MAX = 65_536;

/** Bytes at both ends of a larger answer, in which errors and the usage are looked for. */
export const HEAD_BYTES = 1024;
export const TAIL_BYTES = 4096;

/** How an upstream is treated unless the models file says otherwise. */
export const TIMEOUT_DEFAULTS_MS = {
  connect: 5000,
  /** Absent: `total` for a whole answer, `idle` for a stream. Models that reason are silent for minutes. */
  first_byte: undefined as number | undefined,
  idle: 300_000,
  /** As long as official clients wait. */
  total: 600_000,
  /** How long the caller may keep a stream waiting in all. */
  reader: 120_000,
};
export const RETRIES_DEFAULT = 2;
export const RETRIES_MAX = 10;
export const CONCURRENCY_DEFAULTS = { max: 8192, queue: 1024 };
/** A caller that has kept a stream waiting for so long in all loses it once other requests wait for the upstream. */
export const READER_CONTENDED_MS = 2000;
/** How often that is looked at. */
export const READER_CHECK_MS = 500;
/** How long a request waits for its place at an upstream. */
export const QUEUE_WAIT_MS_MAX = 5000;

/** Full jitter: a pause is drawn from 0 to base × 2ⁿ, never above the ceiling. */
export const BACKOFF_BASE_MS = 250;
export const BACKOFF_MS_MAX = 4000;
/** A longer `retry-after` is the caller's to wait for. */
export const RETRY_AFTER_MS_MAX = 10_000;
/** A target that requests a longer pause is called again after this one. */
export const REST_MS_MAX = 60_000;

/** Failures in a row that open a target's circuit, and for how long (doubled with each failed probe). */
export const CIRCUIT = { failuresMax: 5, openMsMin: 5000, openMsMax: 60_000 };

/** How quickly a target's latency is forgotten (peak EWMA). */
export const LATENCY_DECAY_MS = 10_000;
/** The latency that a failure counts as if it was faster. */
export const FAILED_LATENCY_MS = 1000;

/** Silence of an upstream after which the client hears a comment. */
export const KEEP_ALIVE_MS = 15_000;

/** An upstream that answered lately is not checked for being reachable. */
export const REACHED_LATELY_MS = 5000;

export const EMBEDDING_INPUTS_MAX = 2048;
/** For the built-in model, in UTF-16 code units: one text (about 8,192 tokens), and all texts of a request. */
export const EMBEDDING_TEXT_LENGTH_MAX = 32_768;
export const EMBEDDING_TEXTS_LENGTH_MAX = 4_194_304;
/** Concurrent requests to an upstream for the parts of one large batch. */
export const EMBEDDING_PARTS_AT_ONCE = 4;

/** How long the list of an upstream's models is good for, and how soon a missing model may ask again. */
export const LISTING_TTL_MS = 300_000;
export const LISTING_RETRY_MS = 10_000;
export const LISTING_TIMEOUT_MS = 10_000;
export const LISTING_BYTES_MAX = 4_194_304;

/** Answers kept for repetition, all together, and the largest one. */
export const CACHE_BYTES_MAX = 67_108_864;
export const CACHED_ANSWER_BYTES_MAX = 1_048_576;
/** How long a request waits for the answer of an identical request. */
export const SHARED_WAIT_MS_MAX = 60_000;

/** How often the counters of this process are exchanged for the sums of the others. */
export const ALLOWANCE_SYNC_MS = 125;
/** The sums of the others are valid for this long; then they are read again before a request is admitted. */
export const ALLOWANCE_FRESH_MS = 250;
/** How long a request waits for that, and an exchange for the database. */
export const ALLOWANCE_LOAD_MS = 3000;
export const ALLOWANCE_ANSWER_MS = 1000;
/** The pause before the next exchange after a failure. */
export const ALLOWANCE_RETRY_MS = 50;
/** The reservations of a process expire for the others after this long without an update. */
export const ALLOWANCE_LEASE_MS = 10_000;
/** Keys that were used this recently are kept up to date, so that their next request need not wait. */
export const ALLOWANCE_IDLE_MS = 10_000;
/** How often the spending of the keys in use is compared with the usage records. */
export const ALLOWANCE_RECOVER_MS = 10_000;
export const ALLOWANCES_MAX = 50_000;

/** A completion is taken to have so many tokens, unless the request bounds it or the key's recent ones were longer. */
export const COMPLETION_TOKENS_DEFAULT = 1024;

/** How long an answer waits for its usage record to be durable. */
export const USAGE_RECORD_WAIT_MS = 1000;
/** Usage records that wait while the event buffer fails; beyond, model calls are refused. */
export const USAGE_RECORDS_MAX = 10_000;
/** Usage records of one append. */
export const USAGE_RECORDS_AT_ONCE = 1000;

export const MODEL_USAGE_DAYS_MAX = 366;
