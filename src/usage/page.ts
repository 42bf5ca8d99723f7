// Where pages begin and end: pure. The names and their meaning are those of sqlakeyset and fastapi-pagination, from
// which the interface has its fields.

/** Position in the order (created_at, id). */
export type Place = { createdAtMs: number; id: string };

/** How a page is read: forwards from behind a place (none: the window's begin), or backwards from before one. */
export type Turn = {
  backwards: boolean;
  place: Place | undefined;
  /** The place's own row belongs to the page. */
  inclusive: boolean;
};

export const FIRST_PAGE: Turn = { backwards: false, place: undefined, inclusive: false };

/** The result of reading: the rows in ascending order, and the next one in the direction of reading, if any. */
export type ReadPage = { places: readonly Place[]; beyond: Place | undefined };

export type Turns = {
  current: Turn;
  currentBackwards: Turn;
  previous: Turn | undefined;
  next: Turn | undefined;
};

const forwards = (place: Place | undefined, inclusive = false): Turn => ({
  backwards: false,
  place,
  inclusive,
});
const backwards = (place: Place | undefined, inclusive = false): Turn => ({
  backwards: true,
  place,
  inclusive,
});

/** The pages around one. Walking by `next` (or by `previous`) meets every row once, and ends with none. */
export function turnsAround(turn: Turn, { places, beyond }: ReadPage): Turns {
  const first = places[0];
  const last = places.at(-1);
  // An empty page ends where it begins: its place is on the other side of it.
  const otherSide = !turn.inclusive;
  if (turn.backwards) {
    const next = last === undefined ? forwards(turn.place, otherSide) : forwards(last);
    return {
      current: turn,
      currentBackwards: turn,
      previous: beyond === undefined ? undefined : first === undefined ? turn : backwards(first),
      next: turn.place === undefined ? undefined : next,
    };
  }
  const previous = first === undefined ? backwards(turn.place, otherSide) : backwards(first);
  return {
    current: turn,
    currentBackwards: backwards(beyond),
    previous: turn.place === undefined ? undefined : previous,
    next: beyond === undefined ? undefined : last === undefined ? turn : forwards(last),
  };
}
