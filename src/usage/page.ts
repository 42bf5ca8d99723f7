// The cursors of a page and of those around it (keyset pagination). Pure. The names are those of sqlakeyset and
// fastapi-pagination, from which the interface has its fields.

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
