// Ceilings of the export of passages.

/** Lines of a page, beside its last one. */
export const PAGE_LINES_MAX = 1000;

/** A page ends after the line that takes its lines to so many UTF-16 code units. */
export const PAGE_LENGTH_MAX = 4_194_304;

/** Lines are written in pieces that end after the line that takes them to this; other work runs between two of them. */
export const PIECE_LENGTH_MAX = 131_072;

/** Of a line with an embedding of many dimensions, as long as a page has none by which to tell. */
export const EMBEDDED_LINE_LENGTH = 65_536;

/** Passages that one statement reads, and documents that it looks at: many of those may be hidden from the caller. */
export const FEED_PASSAGES_A_STATEMENT = 200;
export const FEED_CHANGES_A_STATEMENT = 1000;

/** Statements of a page: one for which nearly everything is hidden ends after so many, with `more: true`. */
export const PAGE_STATEMENTS_MAX = 50;

/** Tombstones of purged documents are kept so long for followers that are away. */
export const TOMBSTONE_DAYS = 30;

/** Tombstones that one statement deletes. */
export const FORGET_BATCH = 5000;
