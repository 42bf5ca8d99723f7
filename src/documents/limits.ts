// Ceilings of the documents area.

/** Characters of a document's name; short enough for the index by name in any script. */
export const NAME_LENGTH_MAX = 512;

/** Characters of one tag or category; short enough to be indexed. */
export const TAG_LENGTH_MAX = 256;

/** Bytes of a folder, in UTF-8; with the rest of an object key it stays below S3's 1,024. */
export const FOLDER_BYTES_MAX = 512;

/** Characters of a content type; registered ones have at most 255 without their parameters. */
export const CONTENT_TYPE_LENGTH_MAX = 255;

export const EXPIRES_IN_SECONDS_MAX = 604_800;
export const EXPIRES_IN_SECONDS_DEFAULT = 3600;

/** Rows of one page of the bin or the archive. */
export const LIST_LIMIT_MAX = 1000;

/** A page of the bin or the archive ends with the row that takes its free-form metadata beyond this. */
export const LIST_BYTES_MAX = 4_194_304;

/** Binned documents that one statement purges, with their rows of the audit log: 0.2 s, of the 10 s that a statement may take. */
export const PURGE_BATCH = 2500;

/** Passages of purged documents after which a statement takes no further document: about 1 s. */
export const PURGE_PASSAGES_MAX = 100_000;

/** How long a sweep waits for confirms that write their record; confirms that come meanwhile wait with it. */
export const BAR_WAIT_MS = 1000;

/** How soon after a confirm the bucket is told that the database has come further; a backup is older than this, or unnoticed. */
export const CUSTODY_INTERVAL_MS = 60_000;

/** How often a confirm starts again because the upload was replaced under it. */
export const CONFIRM_ATTEMPTS_MAX = 3;

/** Documents that a process keeps at hand for download URLs, and for how long at most. */
export const CACHED_DOCUMENTS_MAX = 50_000;
export const CACHE_TTL_MS = 30_000;

/** After this long the deletions in the hands of a process that died are given to another; far above one call's. */
export const DELETION_LEASE_MS = 60_000;

/** Filters of one search, of all attributes together. */
export const FILTERS_MAX = 500;

/** Rows of a page of search, and of a window asked for by `offset` alone. */
export const PAGE_SIZE_DEFAULT = 50;
export const PAGE_SIZE_MAX = 100;
export const WINDOW_LIMIT_DEFAULT = 10;

/** Characters of `q`; of the words in it few are asked for. */
export const QUERY_TEXT_LENGTH_MAX = 16_384;

/** Characters of a value before or after a change, in the history of a document. */
export const HISTORY_VALUE_LENGTH_MAX = 200;

/** Removal of rows of the history that have become too old. */
export const HISTORY_SWEEP_MS = 3_600_000;
export const HISTORY_SWEEP_ROWS = 10_000;
