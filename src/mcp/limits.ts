// Ceilings of the MCP server.

/** Tool calls and reads of one request (of a batch) that run at once, and those that may wait: the SDK takes no larger batch. */
export const CALLS_AT_ONCE_MAX = 4;
export const CALLS_WAITING_MAX = 100;
/** Once the answers of a batch have so many bytes together, as JSON, none of its calls and reads begins any more. */
export const BATCH_ANSWER_BYTES_MAX = 4_194_304;

export const RESOURCES_PAGE_SIZE = 100;
export const DOCUMENTS_MAX = 50;
export const DOCUMENTS_DEFAULT = 10;
/** Each passage has 200 to 400 tokens. */
export const PASSAGES_MAX = 50;
export const PASSAGES_DEFAULT = 8;

export const FILTERS_MAX = 50;
export const FILTER_LENGTH_MAX = 2000;
export const QUERY_LENGTH_MAX = 4000;

/** Of the metadata of a document, characters and items that a model is shown. */
export const SUMMARY_LENGTH_MAX = 1000;
export const LABELS_MAX = 50;
export const SLOTS_LENGTH_MAX = 2000;

/** Characters of a text that one call reads: about five thousand tokens by default. */
export const TEXT_LENGTH_DEFAULT = 20_000;
export const TEXT_LENGTH_MAX = 100_000;

/** Lifetime of a download link, in seconds. */
export const LINK_SECONDS_DEFAULT = 3600;
export const LINK_SECONDS_MAX = 604_800;

/** Characters of a question to an agent, of an agent's id and of a session's. */
export const QUESTION_LENGTH_MAX = 100_000;
export const ID_LENGTH_MAX = 200;

/** The interval of progress notifications during a long call, for clients that ask for them. */
export const PROGRESS_MS = 10_000;
