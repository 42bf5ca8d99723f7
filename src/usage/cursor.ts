// Cursors: where a page begins, as text that only this service can have made, for one workspace and window.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { malformed } from '../core/errors.ts';
import type { Place, Turn } from './page.ts';

/** Bounds in milliseconds since 1970, inclusive; undefined: open. */
export type Window = { workspaceId: string; from: number | undefined; to: number | undefined };

const VERSION = 1;
const MAC_BYTES = 12;
const PLACE_BYTES = 24;
const BACKWARDS = 1;
const INCLUSIVE = 2;
const PLACED = 4;

/** Layout: version, flags, milliseconds as int64 and id (where there is a place), MAC. */
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
  return Buffer.concat([body, macOf(secret, window, body)]).toString('base64url');
}

/** Throws 400 for anything that `renderCursor` has not made for this window. */
export function parseCursor(secret: Buffer, window: Window, text: string): Turn {
  const bytes = Buffer.from(text, 'base64url');
  const body = bytes.subarray(0, -MAC_BYTES);
  const flags = body[1] ?? 0;
  const placed = (flags & PLACED) !== 0;
  const whole = bytes.length === 2 + (placed ? PLACE_BYTES : 0) + MAC_BYTES && body[0] === VERSION;
  if (!whole || bytes.toString('base64url') !== text) throw invalid();
  if (!timingSafeEqual(macOf(secret, window, body), bytes.subarray(-MAC_BYTES))) throw invalid();
  return {
    backwards: (flags & BACKWARDS) !== 0,
    inclusive: (flags & INCLUSIVE) !== 0,
    place: placed ? readPlace(body) : undefined,
  };
}

const invalid = () => malformed('Invalid cursor value');

const readPlace = (body: Buffer): Place => ({
  createdAtMs: Number(body.readBigInt64BE(2)),
  id: body.toString('hex', 10).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
});

const macOf = (secret: Buffer, { workspaceId, from, to }: Window, body: Buffer): Buffer =>
  createHmac('sha256', secret)
    .update(`${workspaceId}\0${from ?? ''}\0${to ?? ''}\0`)
    .update(body)
    .digest()
    .subarray(0, MAC_BYTES);
