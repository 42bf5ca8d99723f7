import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ListObjectsV2Command, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { openCatalogue } from '../../src/embedded/object-store/catalogue.ts';
import { BUCKET, refusal, startTestStore, type TestStore } from './fixture.ts';

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

test('pages together name every key below the prefix once, in byte order, whatever their size', () => {
  const key = fc
    .array(fc.constantFrom('a', 'b', '/', '//', '-', 'é', '\u{10ffff}', '0'), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join(''));
  const keys = fc.uniqueArray(key, { maxLength: 120 });
  const prefixes = fc.constantFrom('', 'a', 'a/', 'b-', 'é', '\u{10ffff}');
  fc.assert(
    fc.property(keys, prefixes, fc.integer({ min: 1, max: 40 }), (unsorted, prefix, max) => {
      const catalogue = openCatalogue(':memory:', BUCKET);
      const object = { blob: 'blob', size: 0, etag: '', modifiedMs: 0, type: '', version: '' };
      catalogue.transaction(() => unsorted.forEach((item) => void catalogue.put(item, object)));
      const sorted = unsorted.toSorted(byBytes);
      const found: string[] = [];
      let from: Uint8Array | undefined = new Uint8Array();
      do {
        const rows = catalogue.range(Buffer.from(prefix), from, max + 1);
        found.push(...rows.slice(0, max).map((row) => Buffer.from(row.key).toString()));
        from = rows[max]?.key;
      } while (from !== undefined);
      catalogue.close();
      expect(found).toEqual(sorted.filter((item) => item.startsWith(prefix)));
    }),
    { numRuns: 200 },
  );
});

describe('through the SDK', () => {
  let store: TestStore;
  const keys = Array.from({ length: 2001 }, (_, index) => `dir-${index % 2}/file ${index}`);
  beforeAll(async () => {
    store = await startTestStore();
    const [first = '', ...others] = keys;
    await store.put(first, 'content');
    for (let at = 0; at < others.length; at += 100)
      await Promise.all(others.slice(at, at + 100).map((key) => store.copy(first, key)));
  });
  afterAll(() => store[Symbol.asyncDispose]());

  test('pages follow each other by their tokens', async () => {
    const found: string[] = [];
    const sizes: number[] = [];
    for await (const page of paginateListObjectsV2({ client: store.client }, { Bucket: BUCKET })) {
      found.push(...(page.Contents ?? []).map(({ Key }) => Key ?? ''));
      sizes.push(page.KeyCount ?? 0);
    }
    expect(found).toEqual(keys.toSorted(byBytes));
    expect(sizes).toEqual([1000, 1000, 1]);
  });

  test('a prefix gives what is below it, its names encoded where the client asks for that', async () => {
    const command = { Bucket: BUCKET, Prefix: 'dir-1/file 99', EncodingType: 'url' as const };
    const { Contents } = await store.client.send(new ListObjectsV2Command(command));
    expect(Contents?.map(({ Key }) => Key)).toEqual(
      ['99', '991', '993', '995', '997', '999'].map((number) => `dir-1/file%20${number}`),
    );
    expect(Contents?.[0]).toMatchObject({ Size: 7, StorageClass: 'STANDARD' });
    const nowhere = await store.client.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix: 'nowhere' }));
    expect(nowhere).toMatchObject({ KeyCount: 0, IsTruncated: false, MaxKeys: 1000 });
  });

  test('a token that is none of the store is refused', async () => {
    const command = new ListObjectsV2Command({ Bucket: BUCKET, ContinuationToken: 'of another store' });
    expect(await refusal(store.client.send(command))).toEqual(['InvalidArgument', 400]);
  });
});
