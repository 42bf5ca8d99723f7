// The limits of backups.

/** A pack is complete once it has so many bytes, or so many objects. A larger object is in one pack with others or alone. */
export const PACK_BYTES = 64 * 1024 ** 2;
export const PACK_OBJECTS = 20_000;
/** Objects up to this size are read into memory, this many at once; larger ones are copied as streams, one at a time. */
export const SMALL_OBJECT_BYTES = 1024 ** 2;
export const OBJECTS_AT_ONCE = 32;
/** Objects that are written at once: a store flushes several with one call of its disk. No client uses the service meanwhile. */
export const WRITES_AT_ONCE = 64;
/** A pack is rewritten when less than this share of it is of use. */
export const PACK_LIVE_SHARE_MIN = 0.5;
/** Each backup leaves a pack that is smaller than the others; more of them are made into one. */
export const SMALL_PACKS_MAX = 16;
/** Parts in which files are read and rows are sent. */
export const PART_BYTES = 256 * 1024;
/** Objects of a page of the working set. */
export const PAGE_OBJECTS = 1000;
/** The faults that a verification reports in words; it counts all. */
export const FAULTS_SHOWN = 20;
