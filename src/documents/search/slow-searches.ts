// Slow searches: few run at once, and a workspace never has all of these turns.

import { availableParallelism } from 'node:os';
import { createSemaphore, type Semaphore, shareAmongOwners } from '../../core/semaphore.ts';

const RUNNING_MAX = Math.max(2, Math.floor(availableParallelism() / 2));
const WAITING = { waitingMax: 256, waitMsMax: 10_000, refuse: 'Too many slow searches are waiting' };

/** Of all workspaces together. */
export const createSlowSearches = () => createSemaphore({ ...WAITING, runningMax: RUNNING_MAX });

/**
 * Runs a workspace's slow searches when it is their turn; 503 where too many wait, or one has waited for too long. `bounds`: those of
 * one workspace, where they are other than those of slow searches.
 */
export const createTurns = (all: Semaphore, bounds: Partial<Parameters<typeof createSemaphore>[0]> = {}) =>
  shareAmongOwners(all, { ...WAITING, runningMax: RUNNING_MAX - 1, ...bounds });
