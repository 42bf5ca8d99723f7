import { randomBytes } from 'node:crypto';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A new time-ordered UUID (RFC 9562, version 7). */
export const newId = (): string => Bun.randomUUIDv7();

/** A new random UUID (version 4), for names that must not reveal when they were made. */
export const newRandomId = (): string => crypto.randomUUID();

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether `text` is a UUID in its 36-character form, any version, any case. */
export const isUuid = (text: string): boolean => UUID.test(text);

/** 32 hexadecimal digits in the form of a UUID. */
export const formatUuid = (digits: string): string =>
  digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** `byteCount` random bytes as base62, zero-padded to the length that the largest value needs. */
export function randomBase62(byteCount: number): string {
  const length = Math.ceil((byteCount * 8) / Math.log2(62));
  let digits = '';
  let rest = BigInt(`0x${randomBytes(byteCount).toString('hex')}`);
  for (; rest > 0n; rest /= 62n) digits = BASE62.charAt(Number(rest % 62n)) + digits;
  return digits.padStart(length, '0');
}

/** A non-negative integer in base62, left-padded with `0` to `length` digits. */
export function toBase62(value: number, length: number): string {
  let digits = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) digits = BASE62.charAt(rest % 62) + digits;
  return digits.padStart(length, '0');
}
