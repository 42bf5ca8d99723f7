// Ceilings of the export of passages.

/** Lines of a page, beside its last one. */
export const PAGE_LINES_MAX = 1000;

/** A page ends after the statement that takes its lines beyond this. */
export const PAGE_BYTES_MAX = 4_194_304;

/** Passages that one statement reads, and documents that it looks at: many of those may be hidden from the caller. */
export const FEED_PASSAGES_A_STATEMENT = 200;
export const FEED_CHANGES_A_STATEMENT = 1000;

/** Statements of a page: one for which nearly everything is hidden ends after so many, with `more: true`. */
export const PAGE_STATEMENTS_MAX = 50;

/** Tombstones of purged documents are kept so long for followers that are away. */
export const TOMBSTONE_DAYS = 30;

/** Tombstones that one statement deletes. */
export const FORGET_BATCH = 5000;
