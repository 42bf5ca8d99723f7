// Cursors as signed text, which is valid for one workspace and one window.

import { malformed } from '../core/errors.ts';
import { formatUuid } from '../core/ids.ts';
import { openCursor, signCursor, verifyCursor } from '../http/signed-cursor.ts';
import type { PageCursor, Position } from './page.ts';

/** Bounds in milliseconds since 1970, inclusive; undefined: open. */
export type TimeWindow = { workspaceId: string; from: number | undefined; to: number | undefined };

/** The version of new cursors. */
const VERSION = 2;
/** The earlier version, which clients may have stored. Its MAC covers the window, so that another window looks like a forgery. */
const VERSION_WITHOUT_WINDOW = 1;
const POSITION_BYTES = 24;
const BACKWARDS = 1;
const INCLUSIVE = 2;
const HAS_POSITION = 4;

/** Layout of the body: version, flags, milliseconds as int64 and id (if there is a position). */
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
  return signCursor(secret, describe(window), body);
}

/** Throws 400 for a text that `renderCursor` has not made for this window. */
export function parseCursor(secret: Buffer, window: TimeWindow, text: string): PageCursor {
  const opened = open(secret, describe(window), text);
  if (opened === undefined) throw invalid();
  const { body, inScope } = opened;
  const [, flags = 0] = body;
  if (body.length !== 2 + ((flags & HAS_POSITION) === 0 ? 0 : POSITION_BYTES)) throw invalid();
  if (!inScope) throw ofAnotherWindow();
  return {
    backwards: (flags & BACKWARDS) !== 0,
    inclusive: (flags & INCLUSIVE) !== 0,
    position: (flags & HAS_POSITION) === 0 ? undefined : readPosition(body),
  };
}

function open(secret: Buffer, window: string, text: string): ReturnType<typeof openCursor> {
  const opened = openCursor(secret, window, text);
  if (opened?.body[0] === VERSION) return opened;
  const body = verifyCursor(secret, text, (signed) => Buffer.concat([Buffer.from(window), signed]));
  return body?.[0] === VERSION_WITHOUT_WINDOW ? { body, inScope: true } : undefined;
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

const describe = ({ workspaceId, from, to }: TimeWindow): string =>
  `${workspaceId}\0${from ?? ''}\0${to ?? ''}\0`;
