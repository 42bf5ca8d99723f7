// A form that is used again while a confirm is under way: every file that the store took becomes its document, with
// the metadata of its own confirm. The store and the database are real; only the moment is chosen.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SERVICE } from '../../src/core/author.ts';
import { unavailable } from '../../src/core/errors.ts';
import { newId, newRandomId } from '../../src/core/ids.ts';
import type { Principal } from '../../src/core/principal.ts';
import { type ConfirmDeps, createConfirm } from '../../src/documents/operations/confirm.ts';
import { createSearchEntries } from '../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../src/documents/store.ts';
import { startObjectStore } from '../../src/embedded/object-store/index.ts';
import { createObjectStore, type ObjectStore, type Removal } from '../../src/infra/s3/client.ts';
import { upload } from '../acceptance/support/uploads.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const folder = freshFolder();
const credentials = { region: 'us-east-1', accessKeyId: 'form', secretAccessKey: 'form-secret' };
const person: Principal = {
  keyId: newId(),
  workspaceId: 'acme',
  userId: newId(),
  email: 'ada@example.com',
  scopes: new Set(['documents:write' as const]),
  limits: {},
};

let database: TestDatabase;
let embedded: Awaited<ReturnType<typeof startObjectStore>>;
let objects: ObjectStore;
beforeAll(async () => {
  database = await testDatabase();
  const place = { directory: folder, host: '127.0.0.1', port: 0, bucket: 'atrium' };
  embedded = await startObjectStore({ ...place, ...credentials, corsOrigins: [] }, console);
  const { endpoint } = embedded;
  const bucket = { bucket: 'atrium', endpoint, publicEndpoint: endpoint, formProfile: 'standard' } as const;
  objects = createObjectStore({ ...bucket, ...credentials });
});
afterAll(async () => {
  objects.close();
  await embedded.close();
  await database.drop();
});

async function newForm() {
  const key = `temp/acme/${newRandomId()}`;
  const form = await objects.form({
    key,
    contentType: 'text/plain',
    expiresInSeconds: 600,
    bytesMax: 1000,
  });
  return { key, post: (content: string) => upload(form, content) };
}

/** What happens at a moment of a confirm, once. */
type Moments = {
  beforeCopy?: () => Promise<void>;
  beforeInsert?: () => Promise<void>;
  afterInsert?: () => Promise<void>;
};

/** The operation on the real parts. Without versions it is a store that tells none. */
function createSite(
  versions: boolean,
  moments: Moments = {},
  replaced: Partial<ConfirmDeps['objects']> = {},
) {
  const store = createDocumentStore(database.sql, createSearchEntries());
  const discarded: Removal[] = [];
  const once = async (moment: keyof Moments): Promise<void> => {
    const happens = moments[moment];
    delete moments[moment];
    await happens?.();
  };
  const confirm = createConfirm({
    store: {
      ...store,
      async insert(...given) {
        await once('beforeInsert');
        const kept = await store.insert(...given);
        await once('afterInsert');
        return kept;
      },
    },
    objects: {
      ...objects,
      async head(key) {
        const stored = await objects.head(key);
        return stored === undefined || versions ? stored : { ...stored, version: undefined };
      },
      async copy(options) {
        await once('beforeCopy');
        return objects.copy(options);
      },
      ...replaced,
    },
    discard: (removal) => void discarded.push(removal),
    onRecorded: [],
    findUser: async () => undefined,
    uploadBytesMax: 1000,
  });
  return {
    confirm: (key: string, name: string) => confirm(person, { temp_key: key, document_metadata: { name } }),
    /** What the service does soon after it has answered. */
    discard: () => objects.remove(discarded.splice(0)),
  };
}

describe.each([
  ['with versions', true],
  ['without versions', false],
])('on a store %s', (_title, versions) => {
  test('a file posted while the one before is being confirmed stays, and becomes its own document', async () => {
    const { key, post } = await newForm();
    await post('first');
    const site = createSite(versions, { afterInsert: () => post('second') });
    const first = await site.confirm(key, 'first.txt');
    await site.discard();
    const second = await site.confirm(key, 'second.txt');
    expect([first.name, first.fileSize, second.name, second.fileSize]).toEqual([
      'first.txt',
      5,
      'second.txt',
      6,
    ]);
    await site.discard();
    expect(await objects.head(key)).toBeUndefined();
  });

  test('a file whose record could not be inserted stays, and can be confirmed when the database is back', async () => {
    const { key, post } = await newForm();
    await post('precious');
    const away = unavailable('The database cannot be reached');
    const site = createSite(versions, { beforeInsert: () => Promise.reject(away) });
    await expect(site.confirm(key, 'refused.txt')).rejects.toBe(away);
    // Whatever was to be deleted soon is deleted.
    await site.discard();
    const kept = await site.confirm(key, 'precious.txt');
    expect([kept.name, kept.fileSize]).toEqual(['precious.txt', 8]);
    expect(await objects.head(kept.objectKey)).toMatchObject({ size: 8 });
  });

  test('a file posted after an answer stays, whatever is deleted late', async () => {
    const { key, post } = await newForm();
    const site = createSite(versions);
    await post('first');
    const first = await site.confirm(key, 'first.txt');
    await post('first');
    await site.discard();
    expect(await objects.head(key)).toBeDefined();
    if (!versions) return; // Posted within one second, the same bytes are the same file there.
    expect((await site.confirm(key, 'again.txt')).id).not.toBe(first.id);
  });

  test('the slower of two confirms answers what it saw, not what was posted since', async () => {
    const { key, post } = await newForm();
    await post('first');
    const quick = createSite(versions);
    let answered: string | undefined;
    const slow = createSite(versions, {
      async beforeCopy() {
        answered = (await quick.confirm(key, 'first.txt')).id;
        await quick.discard();
        await post('second');
      },
    });
    const late = await slow.confirm(key, 'first.txt');
    expect(late.id).toBe(answered ?? '');
    await slow.discard();
    const second = await quick.confirm(key, 'second.txt');
    expect([second.name, second.fileSize]).toEqual(['second.txt', 6]);
  });

  test('a file that replaces the one under confirm before it is copied is the one that is confirmed', async () => {
    const { key, post } = await newForm();
    await post('draft');
    const site = createSite(versions, { beforeCopy: () => post('the final text') });
    const document = await site.confirm(key, 'text.txt');
    expect(document.fileSize).toBe(14);
    await site.discard();
    expect((await site.confirm(key, 'other.txt')).id).toBe(document.id);
  });

  test('a temporary object that could not be deleted makes no second document', async () => {
    const { key, post } = await newForm();
    await post('stays');
    const failing = { removeUnchanged: () => Promise.reject(new Error('away')) };
    const site = createSite(versions, {}, failing);
    const document = await site.confirm(key, 'once.txt');
    expect(await objects.head(key)).toBeDefined();
    expect((await site.confirm(key, 'twice.txt')).id).toBe(document.id);
  });

  test('a repetition, once the latest document of the form is purged, answers the one before', async () => {
    const { key, post } = await newForm();
    const site = createSite(versions);
    const ids: string[] = [];
    for (const name of ['kept.txt', 'purged.txt']) {
      await post(name);
      ids.push((await site.confirm(key, name)).id);
      await site.discard();
    }
    const viewer = { ...person, admin: false };
    const store = createDocumentStore(database.sql, createSearchEntries());
    await store.bin(viewer, ids[1] ?? '', SERVICE);
    await store.purge(viewer, ids[1] ?? '', SERVICE);
    expect((await site.confirm(key, 'again.txt')).id).toBe(ids[0] ?? '');
  });
});
