// Cursors of pages: where a page begins, those of the pages around it (keyset pagination), and their signed text, which is valid for one
// workspace and one window. The names are those of sqlakeyset and fastapi-pagination, from which the interface has its fields.

import { malformed } from '../core/errors.ts';
import { formatUuid } from '../core/ids.ts';
import { openCursor, signCursor } from '../http/signed-cursor.ts';

/** Position in the order (created_at, id). */
export type Position = { createdAtMs: number; id: string };

/** Where a page begins: forwards after a position (none: the begin of the window), or backwards before one. */
export type PageCursor = {
  backwards: boolean;
  position: Position | undefined;
  /** Whether the row at the position belongs to the page. */
  inclusive: boolean;
};

export const FIRST_PAGE: PageCursor = { backwards: false, position: undefined, inclusive: false };

/** The end of the window, read backwards. */
export const LAST_PAGE: PageCursor = { backwards: true, position: undefined, inclusive: false };

/** The result of reading: the first and last rows, or all in ascending order, and the next one in the direction of reading, if any. */
export type ReadPage = { positions: readonly Position[]; beyond: Position | undefined };

export type PageCursors = {
  current: PageCursor;
  currentBackwards: PageCursor;
  previous: PageCursor | undefined;
  next: PageCursor | undefined;
};

type At = Position | undefined;
const forwards = (position: At, inclusive = false): PageCursor => ({ backwards: false, position, inclusive });
const backwards = (position: At, inclusive = false): PageCursor => ({ backwards: true, position, inclusive });

/** The cursors around a page. A walk by `next` (or by `previous`) reads every row once, and ends with undefined. */
export function cursorsAround(cursor: PageCursor, { positions, beyond }: ReadPage): PageCursors {
  const first = positions[0];
  const last = positions.at(-1);
  // An empty page ends where it begins, so that the page on its other side includes its position if it does not.
  const otherSide = !cursor.inclusive;
  if (cursor.backwards) {
    const next = last === undefined ? forwards(cursor.position, otherSide) : forwards(last);
    return {
      current: cursor,
      currentBackwards: cursor,
      previous: beyond === undefined ? undefined : first === undefined ? cursor : backwards(first),
      next: cursor.position === undefined ? undefined : next,
    };
  }
  const previous = first === undefined ? backwards(cursor.position, otherSide) : backwards(first);
  return {
    current: cursor,
    currentBackwards: backwards(beyond),
    previous: cursor.position === undefined ? undefined : previous,
    next: beyond === undefined ? undefined : last === undefined ? cursor : forwards(last),
  };
}

/** Bounds in milliseconds since 1970, inclusive; undefined: open. */
export type TimeWindow = { workspaceId: string; from: number | undefined; to: number | undefined };

/** The version of the layout. */
const VERSION = 2;
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
  const opened = openCursor(secret, describe(window), text);
  if (opened?.body[0] !== VERSION) throw invalid();
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
