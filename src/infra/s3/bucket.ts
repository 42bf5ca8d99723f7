import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { endsWithin, sleep } from '../../core/wait.ts';
import type { ObjectStore } from './client.ts';

const RETRY_MS = 1000;
const LOOK_EVERY_MS = 15_000;
/** A store that is there answers at once; one that says nothing does not hold the start up. */
const START_WAIT_MS = 2000;

/**
 * A job that makes the bucket where it is absent: at start, again and again while the store is away, and at an interval from then
 * on, because a store may come back empty. Uploads wait for a store that is down at the start, the rest of the interface does not.
 */
export function createBucketJob(
  objects: Pick<ObjectStore, 'ensureBucket'>,
  log: Logger,
  { lookEveryMs = LOOK_EVERY_MS } = {},
): Job {
  const ending = new AbortController();
  const looked = Promise.withResolvers<void>();
  let running: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    let wasThere = false;
    let warned = false;
    while (!ending.signal.aborted) {
      try {
        const made = await objects.ensureBucket();
        if (made && wasThere)
          log.error({}, 'the bucket was gone and is made anew: its objects have to be restored');
        wasThere = true;
      } catch (err) {
        // Once an outage.
        if (!warned && !wasThere)
          log.warn({ err }, 'the object store is not reachable yet: uploads wait for it, the rest works');
        warned = true;
      }
      looked.resolve();
      await sleep(wasThere ? lookEveryMs : RETRY_MS, ending.signal);
    }
  }

  return {
    name: 's3.bucket',
    async start() {
      running = run();
      await endsWithin(looked.promise, START_WAIT_MS);
    },
    async stop() {
      ending.abort();
      await running;
    },
  };
}
