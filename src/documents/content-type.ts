// Media types as requests name them, and those that may be shown.

import type { ParseOutcome } from '../http/parsed.ts';
import { CONTENT_TYPE_LENGTH_MAX } from './limits.ts';

/** The media types that a browser shows without running anything. HTML, SVG and XML may hold scripts and are not among them. */
export const INLINE_TYPES: readonly string[] = [
  'application/pdf',
  'text/plain',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'video/mp4',
  'video/webm',
  'audio/mpeg',
  'audio/mp4',
  'audio/ogg',
  'audio/wav',
];

/**
 * The type to show a file as, undefined for one that is not to be shown. Text whose encoding is not known is sent
 * as UTF-8: browsers take it for Windows-1252 otherwise.
 */
export function inlineTypeOf(contentType: string): string | undefined {
  const [essence = ''] = contentType.toLowerCase().split(';');
  if (!INLINE_TYPES.includes(essence.trim())) return undefined;
  const tells = essence.trim() !== 'text/plain' || /;\s*charset\s*=/i.test(contentType);
  return tells ? contentType : `${contentType}; charset=utf-8`;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const PATTERN = `^${TOKEN}/${TOKEN}( *; *${TOKEN}=(${TOKEN}|"[ !#-\\[\\]-~]*"))*$`;
const CONTENT_TYPE = new RegExp(PATTERN);

/** A media type with parameters (RFC 9110, section 8.3.1) in ASCII. */
export function parseContentType(text: string, loc: (string | number)[]): ParseOutcome<string> {
  // No type holds a blank: it is a `+` that was not escaped in the query, as of `image/svg+xml`.
  const value = text.replace(/^[^;"]*/, (essence) => essence.trim().replaceAll(' ', '+'));
  if (value.length <= CONTENT_TYPE_LENGTH_MAX && CONTENT_TYPE.test(value)) return { value };
  const error = `not a media type of at most ${CONTENT_TYPE_LENGTH_MAX} characters, such as 'text/plain; charset=utf-8'`;
  return { mistake: { type: 'value_error', loc, msg: `Value error, ${error}`, input: text, ctx: { error } } };
}
