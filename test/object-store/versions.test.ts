// Every write of a name has an identifier of its own, by which exactly that write is read and deleted.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { BUCKET, readText, refusal, startTestStore, type TestStore } from './fixture.ts';

let store: TestStore;
beforeAll(async () => {
  store = await startTestStore();
});
afterAll(() => store[Symbol.asyncDispose]());

const named = (Key: string) => ({ Bucket: BUCKET, Key });
const put = async (Key: string, Body: string): Promise<string> =>
  (await store.client.send(new PutObjectCommand({ ...named(Key), Body }))).VersionId ?? '';
const exists = (Key: string): Promise<boolean> =>
  store.client.send(new HeadObjectCommand(named(Key))).then(
    () => true,
    () => false,
  );
const remove = (Objects: { Key: string; VersionId?: string; ETag?: string }[]) =>
  store.client.send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }));

test('the same bytes written again are another version, and so is a copy', async () => {
  const [first, second] = [await put('twice', 'same'), await put('twice', 'same')];
  const copied = await store.client.send(
    new CopyObjectCommand({ ...named('copy'), CopySource: `${BUCKET}/twice` }),
  );
  expect(new Set([first, second, copied.VersionId, '']).size).toBe(4);
  const head = await store.client.send(new HeadObjectCommand(named('twice')));
  expect(head.VersionId).toBe(second);
});

test('a version is read by its identifier, until it is replaced', async () => {
  const first = await put('read', 'one');
  const version = { ...named('read'), VersionId: first };
  const { Body, VersionId } = await store.client.send(new GetObjectCommand(version));
  expect([await Body?.transformToString(), VersionId]).toEqual(['one', first]);
  await put('read', 'two');
  expect(await refusal(store.client.send(new GetObjectCommand(version)))).toEqual(['NoSuchVersion', 404]);
  expect(await readText(store, 'read')).toBe('two');
});

test('deleting a version leaves what replaced it', async () => {
  const [first, second] = [await put('deleted', 'same'), await put('deleted', 'same')];
  await remove([{ Key: 'deleted', VersionId: first }]);
  await store.client.send(new DeleteObjectCommand({ ...named('deleted'), VersionId: first }));
  expect(await readText(store, 'deleted')).toBe('same');
  const { Deleted, Errors } = await remove([{ Key: 'deleted', VersionId: second }]);
  expect([Deleted, Errors]).toEqual([[{ Key: 'deleted', VersionId: second }], undefined]);
  expect(await exists('deleted')).toBe(false);
  const third = await put('deleted', 'same');
  await store.client.send(new DeleteObjectCommand({ ...named('deleted'), VersionId: third }));
  expect(await exists('deleted')).toBe(false);
});

test('deleting what has an ETag leaves what has another, and says so', async () => {
  await put('a', 'old');
  const { ETag = '' } = await store.client.send(new HeadObjectCommand(named('a')));
  await put('a', 'new');
  await put('b', 'old');
  const { Deleted, Errors } = await remove(['a', 'b', 'absent'].map((Key) => ({ Key, ETag })));
  expect(Errors).toMatchObject([{ Key: 'a', Code: 'PreconditionFailed' }]);
  expect(Deleted).toEqual([{ Key: 'b' }, { Key: 'absent' }]);
  expect([await exists('a'), await exists('b')]).toEqual([true, false]);
});
