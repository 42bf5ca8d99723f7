// Ceilings of usage events, together.

/** One event as it was sent; the CloudEvents of one request; a request's body, before and after decompression. */
export const EVENT_BYTES_MAX = 1_000_000;
export const REQUEST_EVENTS_MAX = 1000;
export const REQUEST_BYTES_MAX = 8_000_000;

/** Values in the JSON of a request (members and items): each may cost a hundred bytes of memory. */
export const REQUEST_VALUES_MAX = 262_144;

/** Nesting of a request: up to this depth, an event that is nested too deeply is reported separately from the others. */
export const REQUEST_NESTING_MAX = 32_768;

/** UTF-8 bytes of the attributes. Workspace, source and id stand in one index entry, of which Postgres takes 2,704. */
export const EVENT_ID_BYTES_MAX = 1024;
export const SOURCE_BYTES_MAX = 1024;
export const TYPE_BYTES_MAX = 255;
export const SUBJECT_BYTES_MAX = 1024;
/** All CloudEvents attributes beyond the record's, as JSON. */
export const EXTENSIONS_BYTES_MAX = 16_384;

/** The most mistakes that an answer reports of one event, because more do not help. */
export const EVENT_MISTAKES_MAX = 20;

/** Events that arrive during an append, or in this time behind it, share the next one: so each costs less. An event that finds none waits for none. */
export const APPEND_GATHER_MS = 1;
/** Bytes that wait for an append; beyond, 503. */
export const WAITING_BYTES_MAX = 67_108_864;

/**
 * The approximate size of one fetch of the sink, which is stored in one transaction. The size is compressed; a pack may
 * be a thousand times as large uncompressed, except for its own limit.
 */
export const SINK_FETCH_BYTES = 262_144;
export const SINK_FETCH_PACKS = 32;
export const SINK_BATCH_BYTES = 8_388_608;
export const SINK_EVENTS_MAX = 20_000;
/** The reduced size under a database that is too slow for more. */
export const SINK_EVENTS_MIN = 100;
/**
 * A batch that is not full waits for more events once, because large transactions cost less for each event. The pause is
 * longer while the batch has at least `SINK_BUSY_EVENTS`.
 */
export const SINK_LINGER_MS = 50;
export const SINK_BUSY_EVENTS = 200;
export const SINK_BUSY_LINGER_MS = 200;

/**
 * Events of the outbox that are moved in one transaction; how long a commit waits for others, to be moved with them;
 * the interval of checking the outbox without a commit; the age of its oldest event at which an operator should act.
 */
export const OUTBOX_BATCH_MAX = 1000;
export const OUTBOX_LINGER_MS = 50;
export const OUTBOX_INTERVAL_MS = 1000;
export const OUTBOX_LATE_SECONDS = 30;

export const PAGE_SIZE_DEFAULT = 50;
export const PAGE_SIZE_MAX = 100;
/** Longer than any transaction that stores events: older ones have been committed or rolled back. */
export const TAIL_MS = 300_000;

/** Events of the messages of one page of a conversation's events, beside those of the page. */
export const EVENTS_OF_MESSAGES_MAX = 1000;

export const SUMMARY_SIZE_DEFAULT = 1000;
export const SUMMARY_SIZE_MAX = 10_000;

/** Events of a retention step, and dead letters of a replay: each is one transaction, or one request. */
export const RETENTION_STEP_EVENTS = 5000;
export const REPLAY_MAX = 1000;

export const DAY_MS = 86_400_000;
export const RETENTION_INTERVAL_MS = 600_000;
/** How long /readyz reports that the buffer refused an event, if none has been sent since. */
export const REFUSAL_TOLD_MS = 10_000;
/** How old the metrics of /metrics may be. */
export const FIGURES_INTERVAL_MS = 2000;
