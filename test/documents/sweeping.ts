// Embedded stores and databases of their own, and sweeps between them.

import { afterAll, beforeAll } from 'bun:test';
import type { Logger } from '../../src/core/logger.ts';
import { createBucketCustody } from '../../src/documents/jobs/custody.ts';
import { createCustodyStore } from '../../src/documents/jobs/custody-store.ts';
import { createSweep } from '../../src/documents/jobs/sweep.ts';
import { createSearchEntries } from '../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../src/documents/store.ts';
import { startObjectStore } from '../../src/embedded/object-store/index.ts';
import { createObjectStore, type ObjectStore } from '../../src/infra/s3/client.ts';
import { silentLog, type TestDatabase, testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const DAY_SECONDS = 86_400;
const later = async () => new Date(Date.now() + 2 * DAY_SECONDS * 1000);

/** Both are there while the tests of a file run. */
export let database: TestDatabase;
export let other: TestDatabase;
const stores: Awaited<ReturnType<typeof startObjectStore>>[] = [];

/** Starts the databases for the tests of the file, and ends them and the stores after these. */
export function useBuckets(): void {
  beforeAll(async () => {
    database = await testDatabase();
    other = await testDatabase();
    // Databases of a test come from one template; in life each has an identity of its own.
    await other.sql`UPDATE documents_identity SET id = gen_random_uuid()`;
  });
  afterAll(async () => {
    for (const store of stores.splice(0)) await store.close();
    await database.drop();
    await other.drop();
  });
}

/** The bucket of a store of its own. */
export async function openBucket(bucket: string): Promise<ObjectStore> {
  const shared = { bucket, region: 'us-east-1', accessKeyId: 'sweep', secretAccessKey: 'sweep-secret' };
  const place = { directory: freshFolder(), host: '127.0.0.1', port: 0, corsOrigins: [] };
  const store = await startObjectStore({ ...shared, ...place }, console);
  stores.push(store);
  const { endpoint } = store;
  return createObjectStore({ ...shared, endpoint, publicEndpoint: endpoint, formProfile: 'standard' });
}

/** What an operator is told, beside the keys that stay. */
export function complaining(): { log: Logger; complaints: string[] } {
  const complaints: string[] = [];
  const error = (_fields: object, message: string): void => void complaints.push(message);
  return { log: { ...silentLog, error } as Logger, complaints };
}

export async function marksIn(objects: ObjectStore): Promise<string[]> {
  const marks: string[] = [];
  for await (const page of objects.list('.atrium/')) marks.push(...page.map(({ key }) => key));
  return marks;
}

export async function keysIn(objects: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of objects.list('')) keys.push(...page.map(({ key }) => key));
  return keys.filter((key) => !key.startsWith('.atrium/'));
}

export async function record({ sql }: TestDatabase, id: string, objectKey: string): Promise<void> {
  await sql`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status)
    VALUES (${id}, 'acme', gen_random_uuid(), gen_random_uuid(), 'a.txt', ${objectKey}, 'private')`;
}

export function sweepOf(
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
