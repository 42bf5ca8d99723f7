// On a real search server: whatever changes, in whatever order, the mirror ends up equal to the documents.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { eventually, startChild } from '../../support/child.ts';
import { type MirrorSetting, mirrorSetting, ownSearchServer, type SearchServer } from './mirror-setting.ts';

const { MEILI_URL: url, MEILI_API_KEY: apiKey, MEILI_BINARY: binary } = process.env;
const server: SearchServer = { url: url ?? '', apiKey };
const ADMIN = join(import.meta.dir, '../../../src/admin.ts');

const changeFor = async ({ library }: MirrorSetting, milliseconds: number, writers = 4): Promise<number> => {
  const until = performance.now() + milliseconds;
  let changes = 0;
  const write = async (): Promise<void> => {
    const ids: string[] = [];
    for (; performance.now() < until; changes++) await library.changeAtRandom(ids);
  };
  await Promise.all(Array.from({ length: writers }, write));
  return changes;
};

const expectEqual = async (setting: MirrorSetting): Promise<void> => {
  const [held, expected] = [await setting.held(), await setting.expected()];
  expect([...held.keys()].sort()).toEqual([...expected.keys()].sort());
  for (const [id, document] of expected) expect(held.get(id)).toEqual(document);
};

test.skipIf(!url)(
  'documents that were there before, and those that change meanwhile, are mirrored (needs MEILI_URL)',
  async () => {
    await using setting = await mirrorSetting(server);
    for (let count = 0; count < 50; count++) await setting.library.insert();
    const mirror = setting.open();
    const second = setting.open();
    await setting.start(mirror);
    await setting.start(second);
    await changeFor(setting, 4000);
    await setting.settle(mirror);
    await expectEqual(setting);
    expect(await mirror.verify(false)).toMatchObject({ missing: 0, extra: 0, different: 0, waiting: 0 });
    expect(await mirror.state()).toMatchObject({ state: 'ready', waiting: 0, refused: 0 });

    await setting.stop(mirror);
    await changeFor(setting, 1000);
    await setting.settle(second);
    await expectEqual(setting);
  },
);

test.skipIf(!url)(
  'a new index takes the place of the old one while documents change (needs MEILI_URL)',
  async () => {
    await using setting = await mirrorSetting(server);
    const mirror = setting.open();
    await setting.start(mirror);
    await setting.settle(mirror);
    const uid = async (): Promise<string | undefined> =>
      (await setting.sql<{ uid: string }[]>`SELECT index_uid AS uid FROM search_mirror WHERE ready`)[0]?.uid;
    const before = await uid();
    await changeFor(setting, 1000);
    const changing = changeFor(setting, 2500);
    await mirror.reindex(() => undefined);
    await changing;
    await setting.settle(mirror);
    expect(await uid()).not.toBe(before);
    await expectEqual(setting);
    await eventually('the old index to be deleted', async () => {
      const answer = await fetch(`${url}/indexes/${before}`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      return answer.status === 404;
    });
  },
);

test.skipIf(!url)(
  'an index that was deleted on the server is made anew, and drift is found and repaired (needs MEILI_URL)',
  async () => {
    await using setting = await mirrorSetting(server);
    const ids = await Promise.all(Array.from({ length: 30 }, () => setting.library.insert()));
    const mirror = setting.open();
    await setting.start(mirror);
    await setting.settle(mirror);
    const [row] = await setting.sql<{ uid: string }[]>`SELECT index_uid AS uid FROM search_mirror`;
    const call = (path: string, method: string, body?: object) =>
      fetch(`${url}/indexes/${row?.uid}${path}`, {
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const stranger = { id: crypto.randomUUID(), workspace: 'acme', fingerprint: 'x' };
    await call('/documents', 'POST', [stranger, { id: ids[0], fingerprint: 'changed' }]);
    await call('/documents/delete-batch', 'POST', [ids[1], ids[2]]);
    const drift = { missing: 2, extra: 1, different: 1 };
    await eventually('the drift to be there', async () => {
      const found = await mirror.verify(false);
      return found.missing === 2 && found;
    });
    expect(await mirror.verify(true)).toMatchObject(drift);
    await setting.settle(mirror);
    await expectEqual(setting);

    await call('', 'DELETE');
    await setting.library.insert();
    await eventually(
      'the loss to be seen',
      async () => {
        const rows = await setting.sql<{ uid: string }[]>`SELECT index_uid AS uid FROM search_mirror`;
        return rows.every(({ uid }) => uid !== row?.uid);
      },
      40_000,
    );
    await setting.settle(mirror);
    await expectEqual(setting);
  },
);

test.skipIf(!url)(
  'an operator makes the index anew, whether the service runs or not, and verifies it (needs MEILI_URL)',
  async () => {
    await using setting = await mirrorSetting(server);
    const id = await setting.library.insert();
    const admin = async (words: string): Promise<string> => {
      const child = startChild([process.execPath, ADMIN, ...words.split(' ')], {
        environment: setting.environment,
      });
      const code = await child.exited;
      // What takes longer than two seconds tells how far it is.
      return `${code} ${child.output().replaceAll(/^admin: .* documents.*\n/gm, '')}`;
    };
    const uids = () => setting.sql<{ uid: string }[]>`SELECT index_uid AS uid FROM search_mirror WHERE ready`;
    expect(await admin('search reindex')).toStartWith('0 index ');
    const [first] = await uids();
    expect(first).toBeDefined();

    const mirror = setting.open();
    await setting.start(mirror);
    await setting.settle(mirror);
    expect(await admin('search reindex --json')).toStartWith('0 {"index":"made anew","state":"ready"');
    await setting.settle(mirror);
    const [second] = await uids();
    expect(second?.uid).not.toBe(first?.uid);
    expect(await admin('search verify')).toMatch(/^0 postgres +compared=1,.*\nindex +compared=1,.*\n$/);

    await fetch(`${url}/indexes/${second?.uid}/documents/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${apiKey}` },
    });
    await eventually('the damage', async () => (await setting.held()).size === 0);
    const found = await admin('search verify --repair');
    expect(found).toMatch(/^1 /);
    expect(found).toMatch(/index +compared=1,waiting=0,missing=1,extra=0,different=0/);
    await setting.settle(mirror);
    expect(await admin('search verify')).toStartWith('0 ');
  },
);

test.skipIf(!binary)(
  'a search server that is killed again and again loses nothing (needs MEILI_BINARY)',
  async () => {
    await using own = ownSearchServer(binary ?? '');
    await using setting = await mirrorSetting(own.server);
    const mirror = setting.open();
    await setting.start(mirror);
    await setting.settle(mirror);
    const changing = changeFor(setting, 9000);
    for (let kill = 0; kill < 4; kill++) {
      await Bun.sleep(1000 + Math.random() * 1000);
      await own.kill();
      own.boot();
    }
    await changing;
    await setting.settle(mirror);
    await expectEqual(setting);
    await setting.stop(mirror);
  },
);
