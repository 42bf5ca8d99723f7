// The sweeper removes what nobody confirmed and what has no record, and never what belongs to somebody else.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../src/core/ids.ts';
import type { Logger } from '../../src/core/logger.ts';
import { createSweep } from '../../src/documents/jobs/sweep.ts';
import { createSearchEntries } from '../../src/documents/search/postgres/entries.ts';
import { createDocumentStore } from '../../src/documents/store.ts';
import { startObjectStore } from '../../src/embedded/object-store/index.ts';
import { createObjectStore, type ObjectStore } from '../../src/infra/s3/client.ts';
import { upload } from '../acceptance/support/uploads.ts';
import { silentLog, type TestDatabase, testDatabase } from '../support/database.ts';

const DAY_SECONDS = 86_400;
const folder = mkdtempSync(join(tmpdir(), 'atrium-sweep-'));
const later = { now: () => new Date(Date.now() + 2 * DAY_SECONDS * 1000) };

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
      accessKeyId: 'sweep',
      secretAccessKey: 'sweep-secret',
      corsOrigins: [],
    },
    console,
  );
});
afterAll(async () => {
  await embedded.close();
  await database.drop();
  await other.drop();
  rmSync(folder, { recursive: true, force: true });
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
  options: { clock?: { now(): Date }; log?: Logger } = {},
) {
  const { clock = later, log = silentLog } = options;
  const sweep = createSweep({
    store: createDocumentStore(sql, createSearchEntries()),
    objects,
    clock,
    log,
    retentionSeconds: DAY_SECONDS,
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
    await sweepOf(database, objects, { clock: { now: () => new Date() } })();
    expect((await keysIn(objects)).length).toBe(5);
    await sweepOf(database, objects)();
    expect(await keysIn(objects)).toEqual([keys.kept, keys.foreign].sort());
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
    const complaints: string[] = [];
    const log = { ...silentLog, error: (_fields: object, message: string) => void complaints.push(message) };
    await sweepOf(other, objects, { log: log as Logger })();
    expect(await keysIn(objects)).toEqual([`acme/${id}.txt`]);
    expect(complaints).toEqual(['the bucket belongs to another database: nothing is swept from it']);
  });
});
