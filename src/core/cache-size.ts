/**
 * Options of a cache that keeps so many entries. Its option `max` would make arrays of that length with the cache, and fill them anew
 * whenever it is emptied, which takes milliseconds of each start.
 */
export const upTo = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
