import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { endsWithin } from '../../core/wait.ts';
import type { ObjectStore } from './client.ts';

const RETRY_MS = 1000;
const LOOK_EVERY_MS = 15_000;
/** A store that is there answers at once; one that says nothing does not hold the start up. */
const START_WAIT_MS = 2000;

/**
 * A job that makes the bucket where it is absent: at start, again and again while the store is away, and at an interval from then
 * on, because a store may come back empty. A store that is down at the start may come back; uploads wait for it, the rest of the
 * interface does not.
 */
export function createBucketJob(
  objects: Pick<ObjectStore, 'ensureBucket'>,
  log: Logger,
  { lookEveryMs = LOOK_EVERY_MS } = {},
): Job {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  let warned = false;
  let wasThere = false;
  let running: Promise<void> = Promise.resolve();

  const attempt = async (): Promise<void> => {
    let nextMs = lookEveryMs;
    try {
      const made = await objects.ensureBucket();
      if (made && wasThere)
        log.error(
          {},
          'the bucket was gone and is made anew: the objects that were in it have to be restored',
        );
      wasThere = true;
    } catch (error) {
      // Once an outage.
      if (!warned && !wasThere)
        log.warn(
          { err: error },
          'the object store is not reachable yet: uploads wait for it, the rest works',
        );
      warned = true;
      if (!wasThere) nextMs = RETRY_MS;
    }
    if (!stopped) timer = setTimeout(start, nextMs);
  };
  function start(): Promise<void> {
    running = attempt();
    return running;
  }

  return {
    name: 's3.bucket',
    start: async () => void (await endsWithin(start(), START_WAIT_MS)),
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
