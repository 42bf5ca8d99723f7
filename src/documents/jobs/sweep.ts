// Finds what crashes and abandoned uploads left in the bucket: temporary objects past their time, and objects
// whose record was never written (a confirm cut off between copy and insert) or is gone.

import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import type { ListedObject, ObjectStore, Removal } from '../../infra/s3/client.ts';
import { classifyKey, OWNER_MARKS } from '../object-keys.ts';
import type { DocumentStore } from '../store.ts';

export type SweepDeps = {
  store: Pick<DocumentStore, 'objectKeysOf' | 'identity'>;
  objects: Pick<ObjectStore, 'list' | 'remove' | 'putEmpty'>;
  clock: Clock;
  log: Logger;
  /** Younger objects are left alone: an upload may still be confirmed, a confirm may still write its record. */
  retentionSeconds: number;
};

/**
 * One pass over the bucket, a page at a time. Keys that are not of our making are never touched, and nothing is while
 * the bucket bears another database's mark: to a fresh or wrong database every document there would be an orphan.
 */
export function createSweep({ store, objects, clock, log, retentionSeconds }: SweepDeps) {
  return async (signal: AbortSignal): Promise<void> => {
    if (!(await ownsBucket())) {
      log.error({}, 'the bucket belongs to another database: nothing is swept from it');
      return;
    }
    const before = clock.now().getTime() - retentionSeconds * 1000;
    let removed = 0;
    for await (const page of objects.list('')) {
      const old = page.filter((object) => object.lastModified.getTime() < before);
      const stale = [...uploadsOf(old), ...(await orphansOf(old))];
      const failed = await objects.remove(stale);
      removed += stale.length - failed.size;
      if (failed.size > 0)
        log.warn({ failed: Object.fromEntries(failed) }, 'the sweeper could not remove objects');
      if (signal.aborted) return;
    }
    if (removed > 0) log.info({ removed }, 'abandoned uploads and orphaned objects were swept');
  };

  /** Two that mark a bucket at once both find the other's mark, and neither sweeps. */
  async function ownsBucket(): Promise<boolean> {
    const mark = `${OWNER_MARKS}${await store.identity()}`;
    let marks = await marksInBucket();
    if (marks.length === 0) {
      await objects.putEmpty(mark);
      marks = await marksInBucket();
    }
    return marks.length === 1 && marks[0] === mark;
  }

  async function marksInBucket(): Promise<string[]> {
    const marks: string[] = [];
    for await (const page of objects.list(OWNER_MARKS)) marks.push(...page.map(({ key }) => key));
    return marks;
  }

  async function orphansOf(old: readonly ListedObject[]): Promise<Removal[]> {
    const keysById = new Map<string, string>();
    for (const { key } of old) {
      const kind = classifyKey(key);
      if (kind.kind === 'document') keysById.set(kind.id, key);
    }
    if (keysById.size === 0) return [];
    const recorded = await store.objectKeysOf([...keysById.keys()]);
    return [...keysById].filter(([id, key]) => recorded.get(id) !== key).map(([, key]) => ({ key }));
  }
}

/** Only what was listed: the form may have been used again since. */
const uploadsOf = (old: readonly ListedObject[]): Removal[] =>
  old.filter(({ key }) => classifyKey(key).kind === 'upload').map(({ key, etag }) => ({ key, etag }));
