// Ceilings of the export of passages.

/** Lines of a page, except its last one; and UTF-16 code units: the line that exceeds them is the last one. */
export const PAGE_LINES_MAX = 1000;
export const PAGE_LENGTH_MAX = 4_194_304;

/** Lines are written in pieces that end after the line that takes them to this; other work runs between two of them. */
export const PIECE_LENGTH_MAX = 131_072;

/** Passages that one statement reads, without and with embeddings, and documents that it looks at: many may be hidden from the caller. */
export const FEED_PASSAGES_A_STATEMENT = 200;
export const FEED_EMBEDDED_A_STATEMENT = 20;
export const FEED_CHANGES_A_STATEMENT = 1000;

/** Statements of a page: one for which nearly everything is hidden ends after so many, with `more: true`. */
export const PAGE_STATEMENTS_MAX = 50;

/** How long tombstones of purged documents are kept for followers that are away, and how many of them one statement deletes. */
export const TOMBSTONE_DAYS = 30;
export const FORGET_BATCH = 5000;
