// Cursors: where a page begins, as text that only this service can have made, for one workspace and window.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { malformed } from '../core/errors.ts';
import { formatUuid } from '../core/ids.ts';
import type { Place, Turn } from './page.ts';

/** Bounds in milliseconds since 1970, inclusive; undefined: open. */
export type Window = { workspaceId: string; from: number | undefined; to: number | undefined };

/** Of the cursors that are made. */
const VERSION = 2;
/** Made before; readers may have kept them. Its MAC covers the window, so that another window cannot be told from a forgery. */
const VERSION_WITHOUT_WINDOW = 1;
const MAC_BYTES = 12;
const WINDOW_BYTES = 4;
const PLACE_BYTES = 24;
const BACKWARDS = 1;
const INCLUSIVE = 2;
const PLACED = 4;

/** Layout: version, flags, milliseconds as int64 and id (where there is a place), digest of the window, MAC. */
export function renderCursor(secret: Buffer, window: Window, turn: Turn): string {
  const { place } = turn;
  const body = Buffer.alloc(place === undefined ? 2 : 2 + PLACE_BYTES);
  body[0] = VERSION;
  body[1] =
    (turn.backwards ? BACKWARDS : 0) | (turn.inclusive ? INCLUSIVE : 0) | (place === undefined ? 0 : PLACED);
  if (place !== undefined) {
    body.writeBigInt64BE(BigInt(place.createdAtMs), 2);
    body.write(place.id.replaceAll('-', ''), 10, 'hex');
  }
  const signed = Buffer.concat([body, digestOf(window)]);
  return Buffer.concat([signed, macOf(secret, signed)]).toString('base64url');
}

/** Throws 400 for anything that `renderCursor` has not made for this window. */
export function parseCursor(secret: Buffer, window: Window, text: string): Turn {
  const bytes = Buffer.from(text, 'base64url');
  const [version, flags = 0] = bytes;
  const bodyBytes = 2 + ((flags & PLACED) === 0 ? 0 : PLACE_BYTES);
  const current = version === VERSION;
  const signedBytes = bodyBytes + (current ? WINDOW_BYTES : 0);
  const known = current || version === VERSION_WITHOUT_WINDOW;
  if (!known || bytes.length !== signedBytes + MAC_BYTES || bytes.toString('base64url') !== text)
    throw invalid();
  const signed = bytes.subarray(0, signedBytes);
  const covered = current ? signed : Buffer.concat([describe(window), signed]);
  if (!timingSafeEqual(macOf(secret, covered), bytes.subarray(signedBytes))) throw invalid();
  if (current && !digestOf(window).equals(signed.subarray(bodyBytes))) throw ofAnotherWindow();
  return {
    backwards: (flags & BACKWARDS) !== 0,
    inclusive: (flags & INCLUSIVE) !== 0,
    place: (flags & PLACED) === 0 ? undefined : readPlace(signed.subarray(0, bodyBytes)),
  };
}

const invalid = () => malformed('Invalid cursor value');
const ofAnotherWindow = () =>
  malformed(
    'Invalid cursor value: it belongs to another workspace or window; send from_date and to_date as they were sent for it',
  );

const readPlace = (body: Buffer): Place => ({
  createdAtMs: Number(body.readBigInt64BE(2)),
  id: formatUuid(body.toString('hex', 10)),
});

const describe = ({ workspaceId, from, to }: Window): Buffer =>
  Buffer.from(`${workspaceId}\0${from ?? ''}\0${to ?? ''}\0`);

const digestOf = (window: Window): Buffer =>
  createHash('sha256').update(describe(window)).digest().subarray(0, WINDOW_BYTES);

const macOf = (secret: Buffer, covered: Buffer): Buffer =>
  createHmac('sha256', secret).update(covered).digest().subarray(0, MAC_BYTES);
