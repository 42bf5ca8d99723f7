// Unicode normalisation whose time grows with the text alone. The engine sorts a run of combining marks in the square of its length: a
// megabyte of marks would take minutes, during which nothing else is answered.

/** What decomposes into marks alone: marks, and the halfwidth sound marks of Japanese. */
const LONG_RUN = /[\p{M}\uff9e\uff9f]{30}(?=[\p{M}\uff9e\uff9f])/gu;
/** The combining grapheme joiner: no mark changes places with it. */
const JOINER = '\u034f';

/** As `String.normalize`, in the Stream-Safe Text Format (UAX #15): a run of more than 30 marks is divided by joiners. */
export const toNormalForm = (text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string =>
  (text.length <= 30 ? text : text.replace(LONG_RUN, `$&${JOINER}`)).normalize(form);
