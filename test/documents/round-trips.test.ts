// A confirm makes one round trip to the database and three to the store, of which the last is not waited for where the
// store has versions.

import { expect, test } from 'bun:test';
import { newId, newRandomId } from '../../src/core/ids.ts';
import type { Principal } from '../../src/core/principal.ts';
import { createConfirm } from '../../src/documents/operations/confirm.ts';
import { createSearchEntries } from '../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../src/documents/store.ts';
import { createObjectStore, type Removal, type StoredObject } from '../../src/infra/s3/client.ts';
import { testDatabase } from '../support/database.ts';
import { startService } from '../support/service.ts';
import { countStatements } from '../support/statements.ts';

/** Counts the requests that pass on their way to the store. The host is kept: signatures cover it. */
function startCounter(target: string) {
  const methods: string[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      methods.push(request.method);
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      return fetch(`${target}${pathname}${search}`, {
        method: request.method,
        headers,
        body: await request.bytes(),
      });
    },
  });
  return { methods, url: server.url.origin, stop: () => server.stop(true) };
}

test.each([
  ['with versions: HEAD, PUT (copy), one statement, and a POST (delete) afterwards', true],
  ['without: HEAD, PUT (copy), one statement, and a DELETE before it answers', false],
])('a confirm on a store %s', async (_title, versions) => {
  const database = await testDatabase();
  await using service = await startService();
  const identity = await Bun.file(`${service.dataDir}/object-store.json`).json();
  const counter = startCounter(`http://127.0.0.1:${identity.port}`);
  try {
    const objects = createObjectStore({
      endpoint: counter.url,
      publicEndpoint: counter.url,
      region: 'us-east-1',
      bucket: 'atrium',
      accessKeyId: 'atrium',
      secretAccessKey: identity.secretAccessKey,
      formProfile: 'standard',
    });
    const uploadId = newRandomId();
    const temporaryKey = `temp/acme/${uploadId}`;
    await objects.putEmpty(temporaryKey);
    counter.methods.length = 0;

    const { counted, statements } = countStatements(database.sql);
    // The embedded store has versions; one without is the same that does not tell them.
    const untold = async (key: string): Promise<StoredObject | undefined> => {
      const stored = await objects.head(key);
      return stored === undefined ? undefined : { ...stored, version: undefined };
    };
    const discarded: Removal[] = [];
    const confirm = createConfirm({
      // The job that reads the file is queued by the same statement.
      store: createDocumentStore(counted, createSearchEntries(), { reads: true }),
      objects: versions ? objects : { ...objects, head: untold },
      discard: (removal) => void discarded.push(removal),
      onRecorded: [],
      findUser: async () => undefined,
      uploadBytesMax: 100,
    });
    const principal: Principal = {
      keyId: newId(),
      workspaceId: 'acme',
      userId: newId(),
      email: 'a@b',
      scopes: new Set(['documents:write']),
      limits: {},
    };
    await confirm(principal, { temp_key: temporaryKey, document_metadata: { name: 'a.txt' } });
    expect(counter.methods).toEqual(['HEAD', 'PUT', ...(versions ? [] : ['DELETE'])]);
    expect(statements.size).toBe(1);
    expect(discarded).toEqual(versions ? [{ key: temporaryKey, version: expect.any(String) }] : []);
    await objects.remove(discarded);
    expect(counter.methods).toEqual(['HEAD', 'PUT', versions ? 'POST' : 'DELETE']);
    expect(await objects.head(temporaryKey)).toBeUndefined();
    objects.close();
  } finally {
    await counter.stop();
    await database.drop();
  }
});
