// Readers that wait for what is being stored: few connections, shared waits, and no memory of a refusal.

import { expect, test } from 'bun:test';
import type { Transaction } from '../../src/infra/postgres/client.ts';
import { StorageBarrier } from '../../src/usage/store/lock-stripes.ts';
import { eventually } from '../support/child.ts';

/** A database whose every answer the test gives. */
function createFakeSql() {
  const asked: PromiseWithResolvers<void>[] = [];
  const sql = (): Promise<void> => {
    const answer = Promise.withResolvers<void>();
    asked.push(answer);
    return answer.promise;
  };
  return { asked, sql: sql as unknown as Transaction };
}

/** A wait begins in a later turn of the event loop than its call. */
const untilAsked = (asked: readonly unknown[], count: number): Promise<unknown> =>
  eventually(`${count} statements`, () => asked.length === count);

test('a wait that has begun is not shared: it may have ended on the server before the call', async () => {
  const { asked, sql } = createFakeSql();
  const barrier = new StorageBarrier(sql);
  const first = barrier.wait('a');
  await untilAsked(asked, 1);
  const second = barrier.wait('a');
  await untilAsked(asked, 2);
  for (const answer of asked) answer.resolve();
  await Promise.all([first, second]);
});

test('those that have not begun are shared', async () => {
  const { asked, sql } = createFakeSql();
  const barrier = new StorageBarrier(sql);
  const begun = ['a', 'b', 'c'].map((workspaceId) => barrier.wait(workspaceId));
  await untilAsked(asked, 3);
  const waiting = Array.from({ length: 50 }, () => barrier.wait('d'));
  await Bun.sleep(0);
  expect(asked.length).toBe(3);
  for (const answer of asked.splice(0)) answer.resolve();
  await Promise.all(begun);
  await untilAsked(asked, 1);
  asked[0]?.resolve();
  await Promise.all(waiting);
});

test('a workspace that was refused because too many wait is served afterwards', async () => {
  const { asked, sql } = createFakeSql();
  const barrier = new StorageBarrier(sql);
  const waits = Array.from({ length: 1003 }, (_, index) => barrier.wait(`w${index}`));
  await expect(barrier.wait('late')).rejects.toMatchObject({ kind: 'unavailable' });
  let done = false;
  const all = Promise.all(waits).then(() => {
    done = true;
  });
  while (!done) {
    for (const answer of asked.splice(0)) answer.resolve();
    await Bun.sleep(0);
  }
  await all;
  const again = barrier.wait('late');
  await untilAsked(asked, 1);
  asked[0]?.resolve();
  await again;
});
