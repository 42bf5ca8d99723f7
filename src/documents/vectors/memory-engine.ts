// Vectors in the memory of this process, all of which a search scans.

import type { Logger } from '../../core/logger.ts';
import { within } from '../../core/wait.ts';
import type { FindNearest, VectorEngine } from './engine.ts';
import { FOUND_MAX, LOAD_WAIT_MS } from './limits.ts';
import type { Place } from './place.ts';
import type { Scanner } from './scanner.ts';
import { NoRoom, type Spaces } from './spaces.ts';

export function createMemoryEngine(deps: {
  spaces: Pick<Spaces, 'current' | 'lost'>;
  scanner: Pick<Scanner, 'scan'>;
  log: Logger;
}): VectorEngine {
  const findIn =
    (space: string): FindNearest =>
    async ({ components }, { limit, documents }) => {
      const places: Place[] = [];
      while (places.length < limit) {
        const asked = Math.min(limit - places.length, FOUND_MAX);
        const scan = { components, limit: asked, behind: places.at(-1), documents };
        const more = await deps.scanner.scan(space, scan).catch((error: unknown) => {
          deps.spaces.lost(space);
          throw error;
        });
        places.push(...more);
        if (more.length < asked) break;
      }
      return { places, how: 'exact scan' };
    };

  return {
    async open(answering) {
      const loading = deps.spaces.current(answering);
      loading.catch((error: unknown) => {
        if (!(error instanceof NoRoom))
          deps.log.warn({ workspace: answering.workspaceId, err: error }, 'vectors cannot be loaded');
      });
      const space = await within(loading, LOAD_WAIT_MS, () => undefined);
      return space === undefined ? undefined : findIn(space);
    },
  };
}
