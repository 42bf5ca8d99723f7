// Limits of the index of vectors.

/** The kernel's sums of products do not overflow below. */
export const DIMENSIONS_MAX = 8192;

/** Components of a query are integers up to this one: twelve bits, so that only the vectors themselves are rounded much. */
export const QUERY_COMPONENT_MAX = 2047;

/** Memory is given to workspaces in slabs of this size. */
export const SLAB_BYTES = 65_536;

/** Scans that read the memory together; each has a part of the scratch for its query, its results and its bitmap. */
export const SCANS_MAX = 8;
export const SCRATCH_BYTES = 2_097_152;

/** Vectors that one scan finds at most; where more are asked for, another scan goes on behind them. */
export const FOUND_MAX = 10_000;
