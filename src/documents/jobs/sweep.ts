// Finds what crashes and abandoned uploads left in the bucket: temporary objects past their time, and objects
// whose record was never written (a confirm cut off between copy and insert) or is gone.

import type { Logger } from '../../core/logger.ts';
import type { ListedObject, ObjectStore, Removal } from '../../infra/s3/client.ts';
import { classifyKey } from '../objects.ts';
import type { DocumentStore } from '../store.ts';
import type { BucketCustody } from './custody.ts';

export type SweepDeps = {
  store: Pick<DocumentStore, 'objectKeysOf' | 'bar'>;
  objects: Pick<ObjectStore, 'list' | 'remove' | 'now'>;
  custody: Pick<BucketCustody, 'advance'>;
  /** Whether a backup is running. */
  isBackedUp(): Promise<boolean>;
  log: Logger;
  /** Younger objects are left alone: an upload may still be confirmed, and a confirm write its record. */
  retentionSeconds: number;
};

/**
 * One pass over the bucket, a page at a time. Keys that are not of our making are never touched, and nothing is unless
 * the bucket is this database's as it is now: to a fresh, wrong or older one, documents there would be orphans.
 */
export function createSweep({ store, objects, custody, isBackedUp, log, retentionSeconds }: SweepDeps) {
  return async (signal: AbortSignal): Promise<void> => {
    if (!(await custody.advance())) return;
    // By the store's clock: by that of a machine which runs ahead, what is being uploaded now would be old.
    const before = (await objects.now()).getTime() - retentionSeconds * 1000;
    let removed = 0;
    for await (const page of objects.list('')) {
      const old = page.filter((object) => object.lastModified.getTime() < before);
      const stale = [...uploadsOf(old), ...(await orphansOf(old))];
      // A document of its moment may have been purged since. The next sweep goes on.
      if (await isBackedUp()) return;
      const failed = await objects.remove(stale);
      removed += stale.length - failed.size;
      if (failed.size > 0)
        log.warn({ failed: Object.fromEntries(failed) }, 'the sweeper could not remove objects');
      if (signal.aborted) return;
    }
    if (removed > 0) log.info({ removed }, 'abandoned uploads and orphaned objects were swept');
  };

  async function orphansOf(old: readonly ListedObject[]): Promise<Removal[]> {
    const keysById = new Map<string, string>();
    for (const { key } of old) {
      const kind = classifyKey(key);
      if (kind.kind === 'document') keysById.set(kind.id, key);
    }
    const orphans = await withoutRecord(keysById);
    if (orphans.size === 0) return [];
    // A confirm may be about to write its record, however old its copy is: it writes none, or has written it by then.
    await store.bar([...orphans.keys()]);
    return [...(await withoutRecord(orphans)).values()].map((key) => ({ key }));
  }

  async function withoutRecord(keysById: ReadonlyMap<string, string>): Promise<Map<string, string>> {
    if (keysById.size === 0) return new Map();
    const recorded = await store.objectKeysOf([...keysById.keys()]);
    return new Map([...keysById].filter(([id, key]) => recorded.get(id) !== key));
  }
}

/** Only what was listed: the form may have been used again since. */
const uploadsOf = (old: readonly ListedObject[]): Removal[] =>
  old.filter(({ key }) => classifyKey(key).kind === 'upload').map(({ key, etag }) => ({ key, etag }));
