// Ceilings of reading contents.

/** UTF-16 code units of a document's text; a longer one is kept up to here, and its state has a reason. */
export const TEXT_LENGTH_MAX = 10_000_000;

/** Characters of a text that a person gives, and bytes of the request that gives it. */
export const GIVEN_TEXT_LENGTH_MAX = 4_000_000;
export const GIVEN_BODY_BYTES_MAX = 16_777_216;

/** What was read in so much processor time is kept without the rest. */
export const READING_MS_ENOUGH = 75_000;

/** What the process of a reading may hold, and what the reading may take; beyond, the process is ended. */
export const READER_CEILINGS = {
  memoryBytesMax: 1_073_741_824,
  /** Of processor time, of all its threads. */
  workedMsMax: 120_000,
  /** By the clock: on a busy machine a reading takes longer; one that only waits is ended, too. */
  elapsedMsMax: 240_000,
};

/** A first reading that takes more leaves its turn to the files of others: the file is read by the process for slow ones. */
export const FIRST_READING_CEILINGS = { ...READER_CEILINGS, workedMsMax: 10_000, elapsedMsMax: 30_000 };

/** How often a reading looks whether its document is still to be read. */
export const READING_CHECK_MS = 1000;

/** A file is fetched within this time, and a store that sends nothing for so long is not waited for any more. */
export const FETCH_MS_MAX = 120_000;
export const FETCH_STALL_MS_MAX = 15_000;

/** Lifetime of the URL by which a file is fetched for its reader: that begins at once, and clocks may differ. */
export const READ_URL_SECONDS = 900;

/** After this time the job of a process that died is given to another; it is renewed while the job runs. */
export const READING_LEASE_MS = 10_000;

/** How often to look for jobs that another process queued, and, of those that catch up, for any. */
export const READING_POLL_MS = 5000;
export const EARLIER_READING_POLL_MS = 60_000;

/** How often a file may end its reader; then the document has failed. */
export const READING_ATTEMPTS_MAX = 3;

/** A reader without work ends after this time; one that has grown so large is replaced. */
export const READER_IDLE_MS = 10_000;
export const READER_RETAINED_BYTES_MAX = 402_653_184;

/** Bytes that the parts of an archive (an office document) inflate to, all together. */
export const INFLATED_BYTES_MAX = 268_435_456;

/** Open elements of HTML and XML: beyond, a file is refused. Attributes of an element beyond theirs are left out. */
export const ELEMENTS_OPEN_MAX = 5000;
export const ELEMENT_ATTRIBUTES_MAX = 1000;

/** Cells of a row of a table: more than programs allow are left out. */
export const ROW_CELLS_MAX = 16_384;

/** Parts of an archive, and levels of mails in mails. */
export const ARCHIVE_ENTRIES_MAX = 20_000;
export const MAIL_DEPTH_MAX = 10;

/** Estimated tokens of a passage, and of the end of the one before that it repeats. */
export const PASSAGE_TOKENS_MIN = 200;
export const PASSAGE_TOKENS_TARGET = 300;
export const PASSAGE_TOKENS_MAX = 400;
export const PASSAGE_OVERLAP_TOKENS_MAX = 40;

/** UTF-16 code units of a passage whatever they are estimated at: what holds blanks alone costs no tokens. */
export const PASSAGE_LENGTH_MAX = 4000;

/**
 * Passages of a document, more than the longest text needs whose pages are longer than a passage: one statement deletes them
 * all, far within the 10 s that it may take.
 */
export const PASSAGES_MAX = 50_000;

/** Characters of the path of headings above a passage. */
export const HEADING_LENGTH_MAX = 400;

/** UTF-16 code units of a part of a text, as it is stored and streamed. */
export const TEXT_PART_LENGTH = 65_536;

/** Characters of a part of a text that is asked for by its place. */
export const EXCERPT_LENGTH_DEFAULT = 20_000;
export const EXCERPT_LENGTH_MAX = 100_000;

/** Passages that come from a reader, and go to the database, at a time: to unpack more would hold up the requests that have come meanwhile. */
export const PASSAGES_A_STATEMENT = 50;

/** Documents whose states are asked for together: a page of a list. */
export const CONTENTS_MAX = 100;
