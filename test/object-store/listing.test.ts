import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ListObjectsV2Command, PutObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import fc from 'fast-check';
import type { ListedRow } from '../../src/embedded/object-store/catalogue.ts';
import { listPage, positionAfter } from '../../src/embedded/object-store/listing.ts';
import { BUCKET, refusal, startTestStore, type TestStore } from './fixture.ts';

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

describe('pages', () => {
  const key = fc
    .array(fc.constantFrom('a', 'b', '/', '//', '-', 'é', '\u{10ffff}', '0'), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join(''));

  /** What S3 documents, said the slow way: every key below the prefix, folded at the first delimiter, after the start. */
  function expected(
    keys: readonly string[],
    prefix: string,
    delimiter: string,
    startAfter: string,
  ): string[] {
    const seen = keys
      .filter((item) => item.startsWith(prefix))
      .map((item) => {
        const position = delimiter === '' ? -1 : item.indexOf(delimiter, prefix.length);
        return position < 0
          ? { kind: 'key', name: item }
          : { kind: 'prefix', name: item.slice(0, position + delimiter.length) };
      })
      .filter(({ name }) => startAfter === '' || byBytes(name, startAfter) > 0);
    return [...new Set(seen.map(({ kind, name }) => `${kind} ${name}`))];
  }

  test('together name every key or common prefix once, in byte order, whatever their size', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(key, { maxLength: 120 }),
        fc.constantFrom('', 'a', 'a/', 'b-', 'é'),
        fc.constantFrom('', '/', '//', '-', 'é'),
        fc.constantFrom('', 'a', 'a/', 'a/b', 'b/', 'b-a', 'zz'),
        fc.integer({ min: 1, max: 40 }),
        (unsorted, prefix, delimiter, startAfter, max) => {
          const keys = unsorted.toSorted(byBytes);
          const rows = keys.map(
            (item): ListedRow => ({ key: Buffer.from(item), size: 0, etag: '', modified_ms: 0 }),
          );
          const read = (range: { from: Uint8Array; below: Uint8Array; limit: number }) =>
            rows
              .filter(
                (row) => Buffer.compare(row.key, range.from) >= 0 && Buffer.compare(row.key, range.below) < 0,
              )
              .slice(0, range.limit);
          const names: string[] = [];
          let from: Uint8Array | undefined =
            startAfter === '' ? undefined : positionAfter(startAfter, { prefix, delimiter });
          do {
            const page = listPage(read, { prefix, delimiter, max, ...(from === undefined ? {} : { from }) });
            const listed = [
              ...page.rows.map((row) => `key ${Buffer.from(row.key).toString()}`),
              ...page.commonPrefixes.map((item) => `prefix ${item.toString()}`),
            ];
            expect(listed.length).toBeLessThanOrEqual(max);
            if (page.resume !== undefined) expect(listed.length).toBe(max);
            names.push(...listed);
            from = page.resume;
          } while (from !== undefined);
          expect(names.toSorted()).toEqual(expected(keys, prefix, delimiter, startAfter).toSorted());
        },
      ),
      { numRuns: 600 },
    );
  });
});

describe('through the SDK', () => {
  let store: TestStore;
  const keys = Array.from(
    { length: 25 },
    (_, index) => `dir-${index % 3}/file ${String(index).padStart(2, '0')}`,
  );
  beforeAll(async () => {
    store = await startTestStore();
    for (const Key of keys) await store.client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: Key }));
  });
  afterAll(() => store[Symbol.asyncDispose]());

  test('pages follow each other by their tokens', async () => {
    const pages = paginateListObjectsV2({ client: store.client, pageSize: 7 }, { Bucket: BUCKET });
    const found: string[] = [];
    const sizes: number[] = [];
    for await (const page of pages) {
      found.push(...(page.Contents ?? []).map(({ Key }) => Key ?? ''));
      sizes.push(page.KeyCount ?? 0);
    }
    expect(found).toEqual(keys.toSorted(byBytes));
    expect(sizes).toEqual([7, 7, 7, 4]);
  });

  test('a delimiter gives the folders, a prefix what is in one', async () => {
    const top = await store.client.send(
      new ListObjectsV2Command({ Bucket: BUCKET, Delimiter: '/', MaxKeys: 2 }),
    );
    expect(top).toMatchObject({ KeyCount: 2, IsTruncated: true, MaxKeys: 2, Delimiter: '/' });
    expect(top.CommonPrefixes).toEqual([{ Prefix: 'dir-0/' }, { Prefix: 'dir-1/' }]);
    const rest = await store.client.send(
      new ListObjectsV2Command({
        Bucket: BUCKET,
        Delimiter: '/',
        ContinuationToken: top.NextContinuationToken,
      }),
    );
    expect(rest.CommonPrefixes).toEqual([{ Prefix: 'dir-2/' }]);
    const folder = await store.client.send(
      new ListObjectsV2Command({
        Bucket: BUCKET,
        Prefix: 'dir-1/',
        StartAfter: 'dir-1/file 10',
        EncodingType: 'url',
      }),
    );
    expect(folder.Contents?.map(({ Key }) => Key)).toEqual(
      ['13', '16', '19', '22'].map((number) => `dir-1/file%20${number}`),
    );
    expect(folder.Contents?.[0]).toMatchObject({ Size: 13, StorageClass: 'STANDARD' });
  });

  test('a page may be empty', async () => {
    const none = await store.client.send(new ListObjectsV2Command({ Bucket: BUCKET, MaxKeys: 0 }));
    expect(none).toMatchObject({ KeyCount: 0, IsTruncated: false });
    const nowhere = await store.client.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix: 'nowhere' }));
    expect(nowhere).toMatchObject({ KeyCount: 0, IsTruncated: false });
  });

  test('a token that is none of the store is refused', async () => {
    const command = new ListObjectsV2Command({ Bucket: BUCKET, ContinuationToken: 'of another store' });
    expect(await refusal(store.client.send(command))).toEqual(['InvalidArgument', 400]);
  });
});
