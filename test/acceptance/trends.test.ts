// Measures in the course of time: the storage of a workspace, and what waits in the service.

import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { shared } from '../support/shared.ts';
import { bodyOf, expectRefusal } from './support/caller.ts';
import { startSetting } from './support/setting.ts';

const { call, admin, adminKey, workspace, elsewhere } = await shared(startSetting());

/** The pause between two measurements is 500 times as long as the first has taken: at its start, on a busy machine, up to a second. */
const MEASURED_MS_MAX = 600_000;

type Trends = {
  storage: { at: string; documents: number; bytes: number }[];
  backlog: { at: string; events: number; jobs: number }[];
};

const read = async (of = workspace): Promise<Trends> =>
  bodyOf(await call('GET', `/admin/api/workspaces/${of}/trends`, { key: adminKey }), 200);

test('documents are in the storage of the day, and their sizes; of another workspace there is nothing', async () => {
  await admin.stored({}, 'x'.repeat(1000));
  await admin.stored({}, 'x'.repeat(234));
  const { storage, backlog } = await eventually(
    'the storage to be measured',
    async () => {
      const found = await read();
      return found.storage.at(-1)?.documents === 2 && found;
    },
    MEASURED_MS_MAX,
  );
  expect(storage.at(-1)).toMatchObject({ documents: 2, bytes: 1234 });
  expect(storage.at(-1)?.at).toEndWith('T00:00:00.000Z');
  expect(backlog.at(-1)?.at).toEndWith(':00:00.000Z');
  expect(backlog.at(-1)?.events).toBeGreaterThanOrEqual(0);
  const { workspace: other } = await elsewhere();
  expect((await read(other)).storage).toEqual([]);
});

test('they are for administrators of the workspace', async () => {
  const { people } = await elsewhere();
  const { key } = await people.newKey({ scopes: ['admin'] });
  expectRefusal(await call('GET', `/admin/api/workspaces/${workspace}/trends`, { key }), 403);
});

test('a workspace that does not exist is 404', async () => {
  expectRefusal(await call('GET', '/admin/api/workspaces/nope/trends', { key: adminKey }), 404);
});
