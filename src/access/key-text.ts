// The text of a key: `atr_`, 24 random bytes in base62, and a checksum, which detects typing errors and guesses without a
// look-up.

import { hash } from 'node:crypto';
import { randomBase62, toBase62 } from '../core/ids.ts';
import { GIVEN_KEY_LENGTH_MAX, GIVEN_KEY_LENGTH_MIN } from './limits.ts';

const PREFIX = 'atr_';
const RANDOM_BYTES = 24;
const CHECKSUM_LENGTH = 6;
const KEY_LENGTH = PREFIX.length + randomBase62(RANDOM_BYTES).length + CHECKSUM_LENGTH;

/** Characters of the secret that a list may show. */
const SHOWN_LENGTH = 6;

export function createKeyText(): string {
  const body = PREFIX + randomBase62(RANDOM_BYTES);
  return body + checksum(body);
}

/** CRC-32 of the text before it. It detects errors; it is no protection against forgery. */
const checksum = (body: string): string => toBase62(Bun.hash.crc32(body), CHECKSUM_LENGTH);

/** Whether a text can be a key: with the prefix its checksum must hold, without it its length must be in bounds. */
export function isKeyText(text: string): boolean {
  if (!text.startsWith(PREFIX))
    return text.length >= GIVEN_KEY_LENGTH_MIN && text.length <= GIVEN_KEY_LENGTH_MAX;
  return (
    text.length === KEY_LENGTH && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
  );
}

/** The stored form of a key or of a cookie's value: SHA-256, in hexadecimal. */
export const hashSecret = (text: string): string => hash('sha256', text, 'hex');

/** The beginning of a key, by which people recognise it. */
export const shownPrefix = (text: string): string =>
  text.slice(0, text.startsWith(PREFIX) ? PREFIX.length + SHOWN_LENGTH : SHOWN_LENGTH);
