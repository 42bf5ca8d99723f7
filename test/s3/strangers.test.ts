// What answers in the store's place, and is none, makes no copy: who asked for one would remove the source next.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ServiceError } from '../../src/core/errors.ts';
import { createBucketJob } from '../../src/infra/s3/bucket.ts';
import { createObjectStore, type ObjectStore } from '../../src/infra/s3/client.ts';
import { silentLog } from '../support/database.ts';

const PAGE = '<html><body>Please sign in</body></html>';

let stranger: ReturnType<typeof Bun.serve>;
let silent: ReturnType<typeof Bun.serve>;
const waiting = Promise.withResolvers<Response>();
beforeAll(() => {
  const place = { hostname: '127.0.0.1', port: 0 };
  stranger = Bun.serve({
    ...place,
    fetch: () => new Response(PAGE, { headers: { 'content-type': 'text/html' } }),
  });
  silent = Bun.serve({ ...place, fetch: () => waiting.promise });
});
afterAll(async () => {
  waiting.resolve(new Response());
  await Promise.all([stranger.stop(true), silent.stop(true)]);
});

function storeAt(server: typeof stranger): ObjectStore {
  const endpoint = server.url.origin;
  return createObjectStore({
    endpoint,
    publicEndpoint: endpoint,
    region: 'us-east-1',
    bucket: 'atrium',
    formProfile: 'standard',
    accessKeyId: 'id',
    secretAccessKey: 'hush-hush',
  });
}

test('a page with status 200 is no copy', async () => {
  const objects = storeAt(stranger);
  const copied: unknown = await objects
    .copy({ from: 'temp/a', to: 'b', source: { size: PAGE.length, etag: '"x"' }, contentType: 'text/plain' })
    .catch((error: unknown) => error);
  objects.close();
  expect(copied).toBeInstanceOf(ServiceError);
  expect(copied).toMatchObject({ kind: 'unavailable' });
});

test('a store that says nothing does not hold the start up', async () => {
  const objects = storeAt(silent);
  const complaints: string[] = [];
  const log = { ...silentLog, warn: (_fields: object, message: string) => void complaints.push(message) };
  const job = createBucketJob(objects, log);
  await job.start();
  // The call is not given up yet.
  expect(complaints).toEqual([]);
  waiting.resolve(new Response());
  await job.stop();
  objects.close();
});
