import { type Batcher, createBatcher } from '../core/batcher.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { LAST_USE_DELAY_MS, LAST_USE_INTERVAL_MS, PRINCIPALS_MAX } from './limits.ts';
import type { KeyStore } from './store/keys.ts';

type Use = { keyId: string; usedAt: Date };

const USES_PER_STATEMENT = 1000;

/**
 * Writes the last uses of keys in batches, so that no request waits for it. A batch that cannot be written is dropped,
 * because the next use of a key, a minute later, is written again.
 */
export function createLastUses({ store, log }: { store: Pick<KeyStore, 'recordUses'>; log: Logger }): {
  add: Batcher<Use>['add'];
  job: Job;
} {
  const batcher = createBatcher<Use>({
    itemsMax: USES_PER_STATEMENT,
    waitingMax: PRINCIPALS_MAX,
    delayMs: LAST_USE_DELAY_MS,
    run: async (uses) => {
      try {
        await store.recordUses(uses, LAST_USE_INTERVAL_MS);
      } catch (error) {
        log.warn({ err: error, keys: uses.length }, 'the last uses of keys could not be written');
      }
    },
  });
  return {
    add: batcher.add,
    job: { name: 'access.last-uses', start: () => undefined, stop: batcher.flush, settle: batcher.flush },
  };
}
