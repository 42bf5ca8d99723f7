// When uploads that were not confirmed are swept within a seed.

import type { PlannedParts } from './planned.ts';

/** Age at which uploads that were not confirmed are swept, and so the longest time until the bucket is tidy. */
export const RETENTION_SECONDS = 3;
/** Each of the five sweeps opens a connection of its own, so that one a second would be a quarter of what a seed costs. */
export const SWEEP_SECONDS = 2;
/**
 * The embedded store has the service's clock: where that is stepped, uploads would be old in the middle of a confirm. The
 * retention has to be longer than any step, and nothing is swept within a seed.
 */
const LONG_RETENTION_SECONDS = 600;

type Parts = Pick<PlannedParts, 'store' | 'steppedClock'>;

export const sweepsWithinSeed = ({ store, steppedClock }: Parts): boolean =>
  !(steppedClock && store === 'embedded');

export const retentionSeconds = (parts: Parts): number =>
  sweepsWithinSeed(parts) ? RETENTION_SECONDS : LONG_RETENTION_SECONDS;
