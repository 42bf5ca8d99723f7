// The life of a key: from the answer that makes it to the moment that ends it.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { shared } from '../support/shared.ts';
import { type Answer, expectRefusal, expectStatus } from './support/caller.ts';
import { startSetting } from './support/setting.ts';

const setting = await shared(startSetting());

const base = () => `/admin/api/workspaces/${setting.workspace}`;

describe('a key', () => {
  test('is refused from the moment that it is revoked, disabled, or replaced', async () => {
    const { people, call, adminKey } = setting;
    const item = (id: string) => `${base()}/keys/${id}`;
    const endings: ((id: string) => Promise<Answer>)[] = [
      (id) => call('DELETE', item(id), { key: adminKey }),
      (id) => call('PATCH', item(id), { key: adminKey, json: { disabled: true } }),
      (id) => call('POST', `${item(id)}/rotate`, { key: adminKey }),
    ];
    for (const end of endings) {
      const { id, key } = await people.newKey();
      const library = setting.libraryOf(key);
      for (let use = 0; use < 5; use++) expectStatus(await library.trash(), 200);
      expect((await end(id)).status).toBeLessThan(300);
      expectRefusal(await library.trash(), 401);
    }
  });

  test('works again from the moment that it is enabled', async () => {
    const { people, call, adminKey } = setting;
    const { id, key } = await people.newKey();
    for (const [disabled, status] of [
      [true, 401],
      [false, 200],
      [true, 401],
    ] as const) {
      expectStatus(await call('PATCH', `${base()}/keys/${id}`, { key: adminKey, json: { disabled } }), 200);
      expectStatus(await setting.libraryOf(key).trash(), status);
    }
  });

  test('is replaced by one with the same rights; the old one lives on for grace_seconds', async () => {
    const { people, call, adminKey } = setting;
    const rotated = async (grace_seconds: number) => {
      const old = await people.newKey();
      const record = await setting.libraryOf(old.key).stored();
      const path = `${base()}/keys/${old.id}/rotate`;
      const answer = await call('POST', path, { key: adminKey, json: { grace_seconds } });
      expectStatus(answer, 201);
      const next = JSON.parse(answer.text) as { key: string; scopes: string[] };
      expect(next.scopes).toEqual(old.scopes);
      expect(await setting.libraryOf(next.key).read(record.id)).toEqual(record);
      return { old: setting.libraryOf(old.key), next: setting.libraryOf(next.key) };
    };
    // No machine is so slow that it asks only after an hour.
    expectStatus(await (await rotated(3600)).old.trash(), 200);
    const { old, next } = await rotated(1);
    await eventually('the old key to end', async () => (await old.trash()).status === 401);
    expectStatus(await next.trash(), 200);
  });

  test('ends with its owner', async () => {
    const { people, call, adminKey } = setting;
    const person = await people.person();
    const { owner_id } = await person.library.stored();
    expectStatus(await call('DELETE', `${base()}/users/${owner_id}`, { key: adminKey }), 204);
    expectRefusal(await person.library.trash(), 401);
  });
});
