import { expect, test } from 'bun:test';
import { DeleteObjectsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import fc from 'fast-check';
import { shared } from '../support/shared.ts';
import { BUCKET, startTestStore } from './fixture.ts';
import { post, supersetForm } from './form.ts';

const store = await shared(startTestStore());

const fits = (key: string) => key !== '' && key.isWellFormed() && Buffer.byteLength(key) <= 1024;

const PIECES = [
  '/',
  '//',
  '.',
  '..',
  '%2F',
  '%',
  '\\',
  ' ',
  '+',
  '&',
  '<',
  '>',
  "'",
  '"',
  '?',
  '#',
  '~',
  '*',
  '|',
  ':',
  'é',
  'e\u0301',
  'a',
  'A',
  '😀',
  '\u0001',
  '\n',
  '\r',
  '\0',
  '\u{10ffff}',
  '\uffff',
  '\ufeff',
  'blobs',
];

/** Any text, and text made of the pieces that file systems, URLs and XML stumble over. */
const anyKey = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 12 }).map((parts) => parts.join('')),
    fc.string({ unit: 'binary', minLength: 200, maxLength: 256 }),
  )
  .filter(fits);

async function listKeys(): Promise<string[]> {
  const page = await store.client.send(new ListObjectsV2Command({ Bucket: BUCKET, EncodingType: 'url' }));
  return (page.Contents ?? []).map(({ Key }) => decodeURIComponent(Key ?? ''));
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

test('any key holds its own object: what was put under each is read, copied, listed and deleted as that', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(anyKey, { minLength: 1, maxLength: 6 }), async (keys) => {
      for (const Key of keys) await store.put(Key, `body of ${Key}`);
      for (const key of keys) expect(await store.text(key)).toBe(`body of ${key}`);
      expect(await listKeys()).toEqual(keys.toSorted(byBytes));
      const [first = '', ...others] = keys;
      await store.copy(first, 'copy');
      expect(await store.text('copy')).toBe(`body of ${first}`);
      await store.remove('copy');
      if (first !== 'copy') await store.remove(first);
      expect(await listKeys()).toEqual(others.toSorted(byBytes));
      const Objects = others.map((Key) => ({ Key }));
      if (others.length > 0)
        await store.client.send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }));
      expect(await listKeys()).toEqual([]);
    }),
    { numRuns: 40 },
  );
});

// XML has no NUL, and the SDK takes a text of blanks for layout: such keys need the URL encoding.
test('a listing without URL encoding names all other keys exactly', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyKey.filter((key) => !key.includes('\0') && key.trim() !== ''),
      async (Key) => {
        await store.put(Key, 'x');
        const page = await store.client.send(new ListObjectsV2Command({ Bucket: BUCKET }));
        expect(page.Contents?.map((row) => row.Key)).toEqual([Key]);
        await store.remove(Key);
      },
    ),
    { numRuns: 40 },
  );
});

test('an upload form can name any key too', async () => {
  for (const Key of ['../../x', '/a//b/', 'é', ' a ', '%2e%2e', 'a\\b', 'A', 'a']) {
    const answer = await post(store, supersetForm(Key), `by form ${Key}`);
    expect(answer.status).toBe(204);
    expect(await store.text(Key)).toBe(`by form ${Key}`);
    await store.head(Key);
    await store.remove(Key);
  }
});
