// Texts of files within the texts that tools answer: no part of a file can pose as another passage or source.

/** A name, a heading or a short text: in quotation marks, on one line. */
export const quoted = (text: string): string => JSON.stringify(text).replaceAll(/[\u2028\u2029]/g, ' ');

/** A text with a mark before each of its lines. */
export const quotedLines = (text: string): string => text.replaceAll(/^/gm, '> ');
