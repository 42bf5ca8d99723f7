// A database that is older than its bucket, as after a backup was restored, sweeps nothing until an operator has decided.

import { describe, expect, test } from 'bun:test';
import { SERVICE } from '../../src/core/author.ts';
import { newId } from '../../src/core/ids.ts';
import type { Logger } from '../../src/core/logger.ts';
import { createBucketMaintenance, readIdentity } from '../../src/documents/index.ts';
import { createBucketCustody } from '../../src/documents/jobs/custody.ts';
import { createCustodyStore } from '../../src/documents/jobs/custody-store.ts';
import type { ObjectStore } from '../../src/infra/s3/client.ts';
import { silentLog } from '../support/database.ts';
import {
  complaining,
  database,
  keysIn,
  marksIn,
  openBucket,
  other,
  record,
  sweepOf,
  useBuckets,
} from './sweeping.ts';

useBuckets();

describe('a database that is older than its bucket', () => {
  const store = () => createCustodyStore(database.sql);
  const problemIn = async (): Promise<string | null> => (await store().read()).problem;
  const custodyOf = (objects: ObjectStore) =>
    createBucketCustody({ store: store(), objects, log: silentLog as Logger });

  /** A document is confirmed after a backup, and the bucket is told; then the backup is restored. */
  async function restoreBackup(objects: ObjectStore): Promise<{ key: string; newest: number }> {
    await sweepOf(database, objects)();
    const { reached: backedUp } = await store().read();
    const id = newId();
    const key = `acme/${id}.txt`;
    await objects.putEmpty(key);
    await record(database, id, key);
    const custody = custodyOf(objects);
    custody.recorded();
    await custody.job.settle?.();
    await custody.job.stop();
    const { reached: newest } = await store().read();
    expect(newest).toBeGreaterThan(backedUp);
    await database.sql`DELETE FROM documents WHERE id = ${id}`;
    await database.sql`UPDATE documents_identity SET reached = ${backedUp}`;
    return { key, newest };
  }

  test('sweeps nothing, says so once, and goes on when an operator has decided', async () => {
    const objects = await openBucket('sweep-behind');
    const { key } = await restoreBackup(objects);
    const { log, complaints } = complaining();
    const sweep = sweepOf(database, objects, { log });
    await sweep();
    await sweep();
    expect(await keysIn(objects)).toEqual([key]);
    expect(complaints).toEqual([expect.stringContaining('older than the bucket')]);
    const custody = custodyOf(objects);
    expect(await custody.check.check()).toMatchObject({
      state: 'degraded',
      detail: expect.stringMatching(/older than the bucket.*bun run admin bucket adopt$/),
    });
    const bucket = createBucketMaintenance(database.sql);
    expect(await bucket.show()).toMatchObject({ problem: complaints[0], adopting: false });
    expect(await bucket.adopt(SERVICE)).toMatchObject({ adopting: true });
    await sweep();
    expect(await keysIn(objects)).toEqual([]);
    expect(await bucket.show()).toMatchObject({ problem: null, adopting: false });
    expect(await custody.check.check()).toEqual({ state: 'ready' });
    expect((await marksIn(objects)).length).toBe(2);
  });

  test('keeps the newer one beside it from sweeping as well', async () => {
    const objects = await openBucket('sweep-diverged');
    const { key, newest } = await restoreBackup(objects);
    await sweepOf(database, objects)();
    await database.sql`UPDATE documents_identity SET reached = ${newest}`;
    const { log, complaints } = complaining();
    await sweepOf(database, objects, { log })();
    expect(complaints).toEqual([expect.stringContaining('a copy of this database')]);
    expect(await keysIn(objects)).toEqual([key]);
    expect(await problemIn()).toBe(complaints[0] ?? '');
  });

  test('takes over, when the decision was cut off, what the newer one had reached', async () => {
    const objects = await openBucket('sweep-cut-off');
    const { newest } = await restoreBackup(objects);
    const maintenance = createBucketMaintenance(database.sql);
    await maintenance.adopt(SERVICE);
    // A store that goes away once the marks are gone.
    const cut: ObjectStore = {
      ...objects,
      async remove(removals) {
        await objects.remove(removals);
        throw new Error('the store is away');
      },
    };
    const custody = createBucketCustody({ store: store(), objects: cut, log: silentLog as Logger });
    await expect(custody.advance()).rejects.toThrow('the store is away');
    expect(await maintenance.show()).toMatchObject({ adopting: true });
    await sweepOf(database, objects)();
    expect(await maintenance.show()).toMatchObject({ adopting: false, problem: null });
    await database.sql`UPDATE documents_identity SET reached = ${newest}`;
    const { log, complaints } = complaining();
    await sweepOf(database, objects, { log })();
    expect(complaints).toEqual([expect.stringContaining('older than the bucket')]);
  });

  test('may take a bucket from another database, when an operator decides so', async () => {
    const objects = await openBucket('sweep-taken');
    const id = newId();
    await objects.putEmpty(`acme/${id}.txt`);
    await sweepOf(other, objects)();
    await createBucketMaintenance(database.sql).adopt(SERVICE);
    await sweepOf(database, objects)();
    expect(await keysIn(objects)).toEqual([]);
    const { log, complaints } = complaining();
    await sweepOf(other, objects, { log })();
    expect(complaints.length).toBe(1);
  });

  test('is found out by what the bucket was told before anything was deleted, and not told of when nothing is confirmed', async () => {
    const objects = await openBucket('sweep-told');
    const upload = `temp/acme/${crypto.randomUUID()}`;
    await objects.putEmpty(upload);
    const { reached } = await store().read();
    const atRemoval: string[][] = [];
    const watched: ObjectStore = {
      ...objects,
      async remove(removals) {
        if (removals.some(({ key }) => key === upload)) atRemoval.push(await marksIn(objects));
        return objects.remove(removals);
      },
    };
    await sweepOf(database, watched)();
    const identity = await readIdentity(database.sql);
    const told = `.atrium/reached-${identity}-${reached + 1}`;
    expect(atRemoval).toEqual([[`.atrium/owner-${identity}`, told]]);

    const custody = custodyOf(objects);
    await custody.job.settle?.();
    const atStart = await marksIn(objects);
    expect(atStart).toContain(`.atrium/reached-${identity}-${reached + 2}`);
    await custody.job.settle?.();
    expect(await marksIn(objects)).toEqual(atStart);
    custody.recorded();
    await custody.job.settle?.();
    expect(await marksIn(objects)).toEqual([
      `.atrium/owner-${identity}`,
      `.atrium/reached-${identity}-${reached + 3}`,
    ]);
    await custody.job.stop();
  });

  test('tells the bucket as soon as a document is confirmed, and does not before where none is', async () => {
    const objects = await openBucket('sweep-first');
    const custody = custodyOf(objects);
    await custody.job.start();
    expect(await marksIn(objects)).toEqual([]);
    custody.recorded();
    // The end waits for what has begun.
    await custody.job.stop();
    expect(await marksIn(objects)).toHaveLength(2);
  });

  test('is not confused by processes that advance at once', async () => {
    const objects = await openBucket('sweep-at-once');
    const all = Array.from({ length: 8 }, () => custodyOf(objects));
    for (let round = 0; round < 5; round++)
      expect(await Promise.all(all.map((custody) => custody.advance()))).not.toContain(false);
    expect(await problemIn()).toBeNull();
  });
});
