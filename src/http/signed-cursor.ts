// Cursors as signed text, each valid for one scope, such as a workspace with a window of time. Layout: the body, whose first
// byte is its version, a digest of the scope, and a MAC of both.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

const MAC_BYTES = 12;
const SCOPE_BYTES = 4;

/** The body as text that fits into a URL. */
export function signCursor(secret: Buffer, scope: string, body: Buffer): string {
  const signed = Buffer.concat([body, digestOf(scope)]);
  return Buffer.concat([signed, macOf(secret, signed)]).toString('base64url');
}

/**
 * The body of a text that `signCursor` has made, and whether it has made it for this scope; undefined for every other text.
 */
export function openCursor(
  secret: Buffer,
  scope: string,
  text: string,
): { body: Buffer; inScope: boolean } | undefined {
  const signed = verifyCursor(secret, text);
  if (signed === undefined || signed.length <= SCOPE_BYTES) return undefined;
  const inScope = digestOf(scope).equals(signed.subarray(-SCOPE_BYTES));
  return { body: signed.subarray(0, -SCOPE_BYTES), inScope };
}

/** The bytes before the MAC, if that is right. */
function verifyCursor(secret: Buffer, text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== text) return undefined;
  const signed = bytes.subarray(0, -MAC_BYTES);
  return timingSafeEqual(macOf(secret, signed), bytes.subarray(-MAC_BYTES)) ? signed : undefined;
}

const digestOf = (scope: string): Buffer =>
  createHash('sha256').update(scope).digest().subarray(0, SCOPE_BYTES);

const macOf = (secret: Buffer, covered: Buffer): Buffer =>
  createHmac('sha256', secret).update(covered).digest().subarray(0, MAC_BYTES);
