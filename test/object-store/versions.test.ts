// Every write of a name has an identifier of its own, by which exactly that write is deleted.

import { expect, test } from 'bun:test';
import { DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { shared } from '../support/shared.ts';
import { BUCKET, startTestStore } from './fixture.ts';

const store = await shared(startTestStore());

const put = async (key: string, content: string): Promise<string> =>
  (await store.put(key, content)).VersionId ?? '';
const exists = (key: string): Promise<boolean> =>
  store.head(key).then(
    () => true,
    () => false,
  );
const remove = (Objects: { Key: string; VersionId?: string; ETag?: string }[]) =>
  store.client.send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }));

test('the same bytes written again are another version, and so is a copy', async () => {
  const [first, second] = [await put('twice', 'same'), await put('twice', 'same')];
  const copied = await store.copy('twice', 'copy');
  expect(new Set([first, second, copied.VersionId, '']).size).toBe(4);
  const head = await store.head('twice');
  expect(head.VersionId).toBe(second);
});

test('deleting a version leaves what replaced it', async () => {
  const [first, second] = [await put('deleted', 'same'), await put('deleted', 'same')];
  await remove([{ Key: 'deleted', VersionId: first }]);
  expect(await store.text('deleted')).toBe('same');
  const { Deleted, Errors } = await remove([{ Key: 'deleted', VersionId: second }]);
  expect([Deleted, Errors]).toEqual([[{ Key: 'deleted', VersionId: second }], undefined]);
  expect(await exists('deleted')).toBe(false);
});

test('deleting what has an ETag leaves what has another, and says so', async () => {
  await put('a', 'old');
  const { ETag = '' } = await store.head('a');
  await put('a', 'new');
  await put('b', 'old');
  const { Deleted, Errors } = await remove(['a', 'b', 'absent'].map((Key) => ({ Key, ETag })));
  expect(Errors).toMatchObject([{ Key: 'a', Code: 'PreconditionFailed' }]);
  expect(Deleted).toEqual([{ Key: 'b' }, { Key: 'absent' }]);
  expect([await exists('a'), await exists('b')]).toEqual([true, false]);
});
