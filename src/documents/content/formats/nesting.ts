import { ELEMENTS_OPEN_MAX } from '../limits.ts';
import { isBroken } from '../unreadable.ts';

/** Counts the open elements of a parser. `open` throws Unreadable where there are too many. */
export function createNesting(): { open(): void; close(): void } {
  let count = 0;
  return {
    open() {
      if (++count > ELEMENTS_OPEN_MAX)
        throw isBroken(`more than ${ELEMENTS_OPEN_MAX} elements are left open`);
    },
    close() {
      count--;
    },
  };
}
