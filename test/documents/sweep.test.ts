// The sweeper removes uploads that were not confirmed and objects without a record, and never what belongs to another database.

import { describe, expect, setSystemTime, test } from 'bun:test';
import { newId, newRandomId } from '../../src/core/ids.ts';
import type { Principal } from '../../src/core/principal.ts';
import { readIdentity } from '../../src/documents/index.ts';
import { createConfirm } from '../../src/documents/operations/confirm.ts';
import { createSearchEntries } from '../../src/documents/search/entries.ts';
import { createDocumentStore, type NewDocument } from '../../src/documents/store.ts';
import type { ObjectStore } from '../../src/infra/s3/client.ts';
import { upload } from '../acceptance/support/uploads.ts';
import { eventually } from '../support/child.ts';
import { connectTo, type TestDatabase } from '../support/database.ts';
import { complaining, database, keysIn, openBucket, other, record, sweepOf, useBuckets } from './sweeping.ts';

useBuckets();

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
    const form = await objects.form({
      key: again,
      contentType: 'text/plain',
      expiresInSeconds: 60,
      bytesMax: 100,
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
    onRecorded: [],
    findUser: async () => undefined,
    uploadBytesMax: 1000,
  });
  const person: Principal = {
    keyId: newId(),
    workspaceId: 'acme',
    userId: newId(),
    email: 'ada@example.com',
    scopes: new Set(['documents:write' as const]),
    limits: {},
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
        id,
        workspaceId: 'acme',
        uploadId: newRandomId(),
        uploadObject: '',
        ownerId: newId(),
        name: 'a.txt',
        objectKey: `acme/${id}`,
        contentType: 'text/plain',
        fileSize: 1,
        fileType: 'txt',
        fileHash: null,
        tags: null,
        categories: null,
        summary: null,
        access: null,
        slots: null,
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
