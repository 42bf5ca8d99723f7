// Cursors as signed text, which is valid for one workspace and one window.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { malformed } from '../core/errors.ts';
import { formatUuid } from '../core/ids.ts';
import type { PageCursor, Position } from './page.ts';

/** Bounds in milliseconds since 1970, inclusive; undefined: open. */
export type TimeWindow = { workspaceId: string; from: number | undefined; to: number | undefined };

/** The version of new cursors. */
const VERSION = 2;
/** The earlier version, which clients may have stored. Its MAC covers the window, so that another window looks like a forgery. */
const VERSION_WITHOUT_WINDOW = 1;
const MAC_BYTES = 12;
const WINDOW_BYTES = 4;
const POSITION_BYTES = 24;
const BACKWARDS = 1;
const INCLUSIVE = 2;
const HAS_POSITION = 4;

/** Layout: version, flags, milliseconds as int64 and id (if there is a position), digest of the window, MAC. */
export function renderCursor(secret: Buffer, window: TimeWindow, cursor: PageCursor): string {
  const { position } = cursor;
  const body = Buffer.alloc(position === undefined ? 2 : 2 + POSITION_BYTES);
  body[0] = VERSION;
  body[1] =
    (cursor.backwards ? BACKWARDS : 0) |
    (cursor.inclusive ? INCLUSIVE : 0) |
    (position === undefined ? 0 : HAS_POSITION);
  if (position !== undefined) {
    body.writeBigInt64BE(BigInt(position.createdAtMs), 2);
    body.write(position.id.replaceAll('-', ''), 10, 'hex');
  }
  const signed = Buffer.concat([body, digestOf(window)]);
  return Buffer.concat([signed, macOf(secret, signed)]).toString('base64url');
}

/** Throws 400 for a text that `renderCursor` has not made for this window. */
export function parseCursor(secret: Buffer, window: TimeWindow, text: string): PageCursor {
  const bytes = Buffer.from(text, 'base64url');
  const [version, flags = 0] = bytes;
  const bodyBytes = 2 + ((flags & HAS_POSITION) === 0 ? 0 : POSITION_BYTES);
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
    position: (flags & HAS_POSITION) === 0 ? undefined : readPosition(signed.subarray(0, bodyBytes)),
  };
}

const invalid = () => malformed('Invalid cursor value');
const ofAnotherWindow = () =>
  malformed(
    'Invalid cursor value: it belongs to another workspace or window; send from_date and to_date as they were sent for it',
  );

const readPosition = (body: Buffer): Position => ({
  createdAtMs: Number(body.readBigInt64BE(2)),
  id: formatUuid(body.toString('hex', 10)),
});

const describe = ({ workspaceId, from, to }: TimeWindow): Buffer =>
  Buffer.from(`${workspaceId}\0${from ?? ''}\0${to ?? ''}\0`);

const digestOf = (window: TimeWindow): Buffer =>
  createHash('sha256').update(describe(window)).digest().subarray(0, WINDOW_BYTES);

const macOf = (secret: Buffer, covered: Buffer): Buffer =>
  createHmac('sha256', secret).update(covered).digest().subarray(0, MAC_BYTES);
