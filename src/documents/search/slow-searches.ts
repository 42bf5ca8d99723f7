// Slow searches: few run at once, and a workspace never has all of these turns. However many searches it sends, only as many of them as may
// run at once wait in front of those of others.

import { availableParallelism } from 'node:os';
import { createSemaphore, type Semaphore } from '../../core/semaphore.ts';

const RUNNING_MAX = Math.max(2, Math.floor(availableParallelism() / 2));
const WAITING = { waitingMax: 256, waitMsMax: 10_000, refuse: 'Too many slow searches are waiting' };

/** Of all workspaces together. */
export const createSlowSearches = () => createSemaphore({ ...WAITING, runningMax: RUNNING_MAX });

/** Runs a workspace's slow search when it is its turn. Throws 503 where too many wait, or it has waited for too long. */
export type InTurn = <T>(workspaceId: string, search: () => Promise<T>) => Promise<T>;

/** @param bounds of one workspace, where they are other than those of slow searches */
export function createTurns(
  all: Semaphore,
  bounds: Partial<Parameters<typeof createSemaphore>[0]> = {},
): InTurn {
  const ofWorkspace = { ...WAITING, runningMax: RUNNING_MAX - 1, ...bounds };
  const workspaces = new Map<string, Semaphore>();
  return async (workspaceId, search) => {
    const own = workspaces.get(workspaceId) ?? createSemaphore(ofWorkspace);
    workspaces.set(workspaceId, own);
    try {
      return await own.run(() => all.run(search));
    } finally {
      const { running, waiting } = own.metrics();
      if (running + waiting === 0) workspaces.delete(workspaceId);
    }
  };
}
