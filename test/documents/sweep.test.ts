// The sweeper removes what nobody confirmed and what has no record, and never what belongs to somebody else.

import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test';
import { SERVICE } from '../../src/core/author.ts';
import { newId, newRandomId } from '../../src/core/ids.ts';
import type { Logger } from '../../src/core/logger.ts';
import type { Principal } from '../../src/core/principal.ts';
import { createBucketMaintenance, readIdentity } from '../../src/documents/index.ts';
import { createBucketCustody } from '../../src/documents/jobs/custody.ts';
import { createCustodyStore } from '../../src/documents/jobs/custody-store.ts';
import { createSweep } from '../../src/documents/jobs/sweep.ts';
import { createConfirm } from '../../src/documents/operations/confirm.ts';
import { createSearchEntries } from '../../src/documents/search/postgres/entries.ts';
import { createDocumentStore, type NewDocument } from '../../src/documents/store.ts';
import { startObjectStore } from '../../src/embedded/object-store/index.ts';
import { createObjectStore, type ObjectStore } from '../../src/infra/s3/client.ts';
import { upload } from '../acceptance/support/uploads.ts';
import { eventually } from '../support/child.ts';
import { connectTo, silentLog, type TestDatabase, testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const DAY_SECONDS = 86_400;
const folder = freshFolder();
const later = async () => new Date(Date.now() + 2 * DAY_SECONDS * 1000);

let database: TestDatabase;
let other: TestDatabase;
let embedded: Awaited<ReturnType<typeof startObjectStore>>;

beforeAll(async () => {
  database = await testDatabase();
  other = await testDatabase();
  // Databases of a test come from one template; in life each has an identity of its own.
  await other.sql`UPDATE documents_identity SET id = gen_random_uuid()`;
  embedded = await startObjectStore(
    {
      directory: folder,
      host: '127.0.0.1',
      port: 0,
      region: 'us-east-1',
      bucket: 'atrium',
      accessKeyId: 'sweep',
      secretAccessKey: 'sweep-secret',
      corsOrigins: [],
      retentionSeconds: 86_400,
    },
    console,
  );
});
afterAll(async () => {
  await embedded.close();
  await database.drop();
  await other.drop();
});

async function openBucket(bucket: string): Promise<ObjectStore> {
  const objects = createObjectStore({
    endpoint: embedded.endpoint,
    publicEndpoint: embedded.endpoint,
    region: 'us-east-1',
    bucket,
    accessKeyId: 'sweep',
    secretAccessKey: 'sweep-secret',
    formProfile: 'standard',
  });
  await objects.ensureBucket();
  return objects;
}

/** What an operator is told, beside the keys that stay. */
function complaining(): { log: Logger; complaints: string[] } {
  const complaints: string[] = [];
  const error = (_fields: object, message: string): void => void complaints.push(message);
  return { log: { ...silentLog, error } as Logger, complaints };
}

async function marksIn(objects: ObjectStore): Promise<string[]> {
  const marks: string[] = [];
  for await (const page of objects.list('.atrium/')) marks.push(...page.map(({ key }) => key));
  return marks;
}

async function keysIn(objects: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of objects.list('')) keys.push(...page.map(({ key }) => key));
  return keys.filter((key) => !key.startsWith('.atrium/'));
}

async function record({ sql }: TestDatabase, id: string, objectKey: string): Promise<void> {
  await sql`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status)
    VALUES (${id}, 'acme', gen_random_uuid(), gen_random_uuid(), 'a.txt', ${objectKey}, 'private')`;
}

function sweepOf(
  { sql }: TestDatabase,
  objects: ObjectStore,
  options: {
    now?: () => Promise<Date>;
    isBackedUp?: () => Promise<boolean>;
    log?: Logger;
    retentionSeconds?: number;
  } = {},
) {
  const {
    now = later,
    isBackedUp = async () => false,
    log = silentLog,
    retentionSeconds = DAY_SECONDS,
  } = options;
  const sweep = createSweep({
    store: createDocumentStore(sql, createSearchEntries()),
    objects: { ...objects, now },
    custody: createBucketCustody({ store: createCustodyStore(sql), objects, log }),
    isBackedUp,
    log,
    retentionSeconds,
  });
  return () => sweep(new AbortController().signal);
}

describe('a sweep', () => {
  test('removes old uploads and old objects without a record, and nothing else', async () => {
    const objects = await openBucket('sweep-own');
    const [kept, orphan, moved] = [newId(), newId(), newId()];
    const keys = {
      kept: `acme/a/${kept}.txt`,
      orphan: `acme/${orphan}.txt`,
      moved: `acme/elsewhere/${moved}`,
      upload: `temp/acme/${crypto.randomUUID()}`,
      foreign: 'acme/notes/readme.txt',
    };
    for (const key of Object.values(keys)) await objects.putEmpty(key);
    await record(database, kept, keys.kept);
    await record(database, moved, `acme/${moved}`);
    await sweepOf(database, objects, { now: objects.now })();
    expect((await keysIn(objects)).length).toBe(5);
    await sweepOf(database, objects)();
    expect(await keysIn(objects)).toEqual([keys.kept, keys.foreign].sort());
  });

  test('goes by the clock of the store, not by that of a machine that runs ahead', async () => {
    const objects = await openBucket('sweep-clock');
    const uploadKey = `temp/acme/${crypto.randomUUID()}`;
    await objects.putEmpty(uploadKey);
    expect(Math.abs((await objects.now()).getTime() - Date.now())).toBeLessThan(60_000);
    // Beyond a quarter of an hour the store refuses signatures.
    setSystemTime(new Date(Date.now() + 600_000));
    try {
      await sweepOf(database, objects, { now: objects.now, retentionSeconds: 300 })();
    } finally {
      setSystemTime();
    }
    expect(await keysIn(objects)).toEqual([uploadKey]);
  });

  test('leaves what is posted again between the listing and the removal', async () => {
    const objects = await openBucket('sweep-again');
    const [again, stale] = [`temp/acme/${crypto.randomUUID()}`, `temp/acme/${crypto.randomUUID()}`];
    for (const key of [again, stale]) await objects.putEmpty(key);
    const form = objects.form({
      key: again,
      contentType: 'text/plain',
      expiresInSeconds: 60,
      bytesMax: 100,
      now: new Date(),
    });
    const listed: ObjectStore = {
      ...objects,
      async *list(prefix) {
        for await (const page of objects.list(prefix)) {
          if (prefix === '') await upload(form, 'posted again');
          yield page;
        }
      },
    };
    await sweepOf(database, listed)();
    expect(await keysIn(objects)).toEqual([again]);
  });

  test('leaves a bucket alone that bears the mark of another database', async () => {
    const objects = await openBucket('sweep-shared');
    const id = newId();
    await objects.putEmpty(`acme/${id}.txt`);
    await record(database, id, `acme/${id}.txt`);
    await sweepOf(database, objects)();
    const { log, complaints } = complaining();
    await sweepOf(other, objects, { log })();
    expect(await keysIn(objects)).toEqual([`acme/${id}.txt`]);
    expect(complaints).toEqual(['the bucket belongs to another database: nothing is swept from it']);
  });

  test('leaves a bucket alone that bears the marks of two databases, its own among them', async () => {
    const objects = await openBucket('sweep-two');
    const id = newId();
    await sweepOf(database, objects)();
    await objects.putEmpty(`.atrium/owner-${await readIdentity(other.sql)}`);
    await objects.putEmpty(`acme/${id}.txt`);
    for (const each of [database, other]) {
      const { log, complaints } = complaining();
      await sweepOf(each, objects, { log })();
      expect(complaints).toEqual(['the bucket belongs to another database: nothing is swept from it']);
    }
    expect(await keysIn(objects)).toEqual([`acme/${id}.txt`]);
  });
});

/** A confirm of an upload under the key, which does something before it writes its record. */
function confirmOf(
  { sql }: TestDatabase,
  objects: ObjectStore,
  beforeInsert: (document: NewDocument) => Promise<void> = async () => undefined,
) {
  const store = createDocumentStore(sql, createSearchEntries());
  const confirm = createConfirm({
    store: {
      ...store,
      async insert(document) {
        await beforeInsert(document);
        return store.insert(document);
      },
    },
    objects,
    discard: (removal) => void objects.remove([removal]),
    recorded: () => undefined,
    findUser: async () => undefined,
    uploadBytesMax: 1000,
  });
  const person: Principal = {
    ...{ keyId: newId(), workspaceId: 'acme', userId: newId(), email: 'ada@example.com' },
    ...{ scopes: new Set(['documents:write' as const]), limits: {} },
  };
  return (key: string) => confirm(person, { temp_key: key, document_metadata: { name: 'a.txt' } });
}

describe('a confirm that takes so long that a sweep overtakes it', () => {
  const recordsOf = (uploadId: string) => database.sql`
    SELECT FROM documents WHERE upload_id = ${uploadId}::uuid`;

  const waitsForLock = (statement: string) =>
    eventually('the statement to wait for a lock', async () => {
      const waiting = await database.sql`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        AND datname = current_database() AND query LIKE ${`%${statement}%`}`;
      return waiting.length > 0;
    });

  test('makes no record once its copy is swept, and can be repeated', async () => {
    const objects = await openBucket('sweep-late');
    const uploadId = newRandomId();
    const key = `temp/acme/${uploadId}`;
    await objects.putEmpty(key);
    const late = confirmOf(database, objects, sweepOf(database, objects))(key);
    await expect(late).rejects.toThrow('could not be confirmed in time');
    expect(await recordsOf(uploadId)).toHaveLength(0);
    // The sweep took the upload as well.
    await objects.putEmpty(key);
    const document = await confirmOf(database, objects)(key);
    expect(await objects.head(document.objectKey)).toBeDefined();
  });

  test('makes no record if it waits for the sweep that decides about its copy', async () => {
    const narrow = connectTo(database.url, { applicationName: 'narrow', connectionsMax: 1 });
    const store = createDocumentStore(narrow, createSearchEntries());
    const insert = (id: string) =>
      store.insert({
        ...{ id, workspaceId: 'acme', uploadId: newRandomId(), uploadObject: '', ownerId: newId() },
        ...{
          name: 'a.txt',
          objectKey: `acme/${id}`,
          contentType: 'text/plain',
          fileSize: 1,
          fileType: 'txt',
        },
        ...{ fileHash: null, tags: null, categories: null, summary: null, access: null, slots: null },
        status: 'private',
      });
    // The server has not yet seen the statement of the first one, and has prepared that of the second.
    for (let round = 0; round < 2; round++) {
      const id = newId();
      let late: Promise<unknown> | undefined;
      await database.sql.begin(async (tx) => {
        await tx`LOCK TABLE documents_swept IN EXCLUSIVE MODE`;
        late = insert(id);
        await waitsForLock('INSERT INTO documents ');
        await tx`INSERT INTO documents_swept VALUES (${id})`;
      });
      expect(await late).toBeUndefined();
    }
    expect(await insert(newId())).toBeDefined();
    await narrow.end();
  });

  test('keeps its object if its record is being written', async () => {
    const objects = await openBucket('sweep-writing');
    const key = `temp/acme/${newRandomId()}`;
    await objects.putEmpty(key);
    const { sql } = database;
    const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    let holder: Promise<unknown> | undefined;
    const confirmed = confirmOf(database, objects, async ({ uploadId, uploadObject }) => {
      // The confirm waits for the end of a transaction that has written a record of the same upload.
      holder = sql
        .begin(async (tx) => {
          await tx`INSERT INTO documents (id, workspace_id, upload_id, upload_object, owner_id, name, object_key, status)
            VALUES (${newId()}, 'acme', ${uploadId}, ${uploadObject}, gen_random_uuid(), 'a.txt', '', 'private')`;
          hold();
          await mayEnd;
          throw new Error('undone');
        })
        .catch(() => undefined);
      await isHeld;
    })(key);
    await waitsForLock('INSERT INTO documents ');
    let swept = false;
    const sweep = sweepOf(database, objects)().then(() => {
      swept = true;
    });
    // It waits for a second, which may be over before it is seen.
    await Promise.race([sweep.catch(() => undefined), waitsForLock('LOCK TABLE documents_swept')]);
    expect(swept).toBeFalse();
    end();
    await holder;
    const document = await confirmed;
    // It gives up where the wait is long, and is repeated.
    await sweep.catch(() => sweepOf(database, objects)());
    expect(await objects.head(document.objectKey)).toBeDefined();
  });
});

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
