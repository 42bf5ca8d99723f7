// A database and a bucket to be backed up, and empty ones to restore into.

import { randomBytes } from 'node:crypto';
import { restoreBackup } from '../../src/backup/restore.ts';
import { takeBackup } from '../../src/backup/take.ts';
import { newId } from '../../src/core/ids.ts';
import { createProgress } from '../../src/core/progress.ts';
import { startObjectStore } from '../../src/embedded/object-store/index.ts';
import { readMigrations } from '../../src/infra/postgres/migrate.ts';
import { createObjectStore, type ObjectStore } from '../../src/infra/s3/client.ts';
import { createTransfer, type Transfer } from '../../src/infra/s3/transfer.ts';
import { connectTo, MIGRATIONS, type TestDatabase, testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

export const quiet = createProgress(() => undefined);

type Parts = { endpoint: string; database: TestDatabase; objects: ObjectStore; transfer: Transfer };
export type Service = Parts & AsyncDisposable;

/** Services with a bucket each, in a store of its own. */
export async function startStoreOfBackups() {
  const stores: Awaited<ReturnType<typeof startObjectStore>>[] = [];
  const openBucket = async () => {
    const shared = {
      bucket: 'backups',
      region: 'us-east-1',
      accessKeyId: 'backup',
      secretAccessKey: 'backup-secret',
    };
    const place = { directory: freshFolder(), host: '127.0.0.1', port: 0, corsOrigins: [] };
    const store = await startObjectStore({ ...shared, ...place }, console);
    stores.push(store);
    const { endpoint } = store;
    const objects = createObjectStore({
      ...shared,
      endpoint,
      publicEndpoint: endpoint,
      formProfile: 'standard',
    });
    return { endpoint, objects };
  };
  const start = async (): Promise<Service> => {
    const [database, { endpoint, objects }] = await Promise.all([testDatabase(), openBucket()]);
    return {
      endpoint,
      database,
      objects,
      transfer: createTransfer(objects),
      async [Symbol.asyncDispose]() {
        objects.close();
        await database.drop();
      },
    };
  };
  return {
    start,
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store.close();
    },
  };
}

/** The object first and then the row, as a confirm does. */
export async function addDocument(
  { database, transfer }: Parts,
  content: Uint8Array = randomBytes(1000),
  folder = '',
): Promise<string> {
  const key = `acme/${folder}${newId()}.txt`;
  const type = 'text/plain; charset=utf-8';
  await transfer.put(key, { size: content.length, type, body: new Blob([content.slice()]) });
  await database.sql`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status)
    VALUES (gen_random_uuid(), 'acme', gen_random_uuid(), gen_random_uuid(), 'a.txt', ${key}, 'private')`;
  return key;
}

export const contentOf = async ({ transfer }: Parts, key: string) =>
  await transfer.get(key, async ({ body, type }) => ({
    type,
    hash: Bun.hash(await new Response(body).bytes()),
  }));

export const backUp = ({ database: { sql }, transfer }: Parts, folder: string) =>
  takeBackup(folder, {
    sql,
    store: transfer,
    embedded: false,
    awaitEvents: async () => 0,
    progress: quiet,
  });

export const restoreInto = (
  { database, transfer }: Parts,
  folder: string,
  differing: Partial<Parameters<typeof restoreBackup>[1]> = {},
) =>
  restoreBackup(folder, {
    migrations: readMigrations(MIGRATIONS),
    connect: async () => connectTo(database.url),
    store: transfer,
    progress: quiet,
    ...differing,
  });
