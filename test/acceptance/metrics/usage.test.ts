// Around the events: who may send and read them, their sums, and what the service reports of itself.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { shared } from '../../support/shared.ts';
import { bodyOf, expectStatus } from '../support/caller.ts';
import { createFreshMetrics, eventOf } from '../support/metrics.ts';
import { startSetting } from '../support/setting.ts';

type Summary = {
  items: { key: string; events: number; value: number }[];
  total: { events: number; value: number };
  next_page: string | null;
};

const setting = await shared(startSetting());
const freshMetrics = createFreshMetrics(setting);

describe('who may', () => {
  test('needs a key with the scope metrics, of the workspace, as parameter or header', async () => {
    const metrics = await freshMetrics();
    const { call } = setting;
    const other = await freshMetrics();
    const unscoped = await setting.people.newKey({ scopes: ['chat'] });
    for (const [name, method] of [
      ['by_created_at', 'GET'],
      ['summary', 'GET'],
      ['events', 'POST'],
    ] as const) {
      const path = `${metrics.root}/${name}`;
      const ok = method === 'GET' ? 200 : 415;
      const ask = (query: Record<string, string>, headers: Record<string, string> = {}) =>
        call(method, path, { query, headers });
      expectStatus(await ask({}), 401);
      expectStatus(await ask({ authorization: '' }), 401);
      expectStatus(await ask({ authorization: 'nonsense' }), 401);
      expectStatus(await ask({ authorization: other.key }), 403);
      expectStatus(
        await call(method, `/api/v1/workspace_metric/${setting.workspace}/${name}`, {
          query: { authorization: unscoped.key },
        }),
        403,
      );
      expectStatus(await ask({ authorization: metrics.key }), ok);
      expectStatus(await ask({ authorization: `Bearer ${metrics.key}` }), ok);
      expectStatus(await ask({}, { authorization: `Bearer ${metrics.key}` }), ok);
      expectStatus(await ask({}, { authorization: metrics.key }), ok);
    }
    expect(setting.service.child.output()).not.toContain(metrics.key);
  });
});

describe('summaries', () => {
  test('sums by type, day, hour, subject and source, below a prefix, page by page', async () => {
    const metrics = await freshMetrics();
    const rest = { message_id: 1, chat_session_id: 1, is_positive: true, feedback_text: '', provider: 'key' };
    const of = (type: string, subject: string, source: string, value: unknown) =>
      eventOf({ type, subject, source, data: { value, ...rest } });
    const events = [
      of('messages.user.new', 'ada@example.com', 'web', '1'),
      of('messages.user.new', 'bob@example.com', 'web', '1'),
      of('messages.user.feedback', 'ada@example.com', 'bot', '1'),
      of('messages.username', 'ada@example.com', 'bot', 2.5),
      of('auth.user.login', 'ada@example.com', 'web', 3),
      of('own.text', '', 'web', 'no number'),
    ];
    expectStatus(await metrics.sendAll(events), 202);
    await eventually(
      'all of them',
      async () => (await metrics.page({ include_total: true })).total === events.length,
    );
    const summary = async (query: Record<string, string | number>) =>
      bodyOf<Summary>(await metrics.get('summary', query), 200);
    const groups = async (query: Record<string, string | number>) =>
      (await summary(query)).items.map(({ key, events: n, value }) => `${key} ${n} ${value}`);
    expect(await groups({})).toEqual([
      'auth.user.login 1 3',
      'messages.user.feedback 1 1',
      'messages.user.new 2 2',
      'messages.username 1 2.5',
      'own.text 1 0',
    ]);
    expect(await groups({ type: 'messages.user' })).toEqual([
      'messages.user.feedback 1 1',
      'messages.user.new 2 2',
    ]);
    expect(await groups({ type: 'messages.user.', group_by: 'subject' })).toEqual([
      'ada@example.com 2 2',
      'bob@example.com 1 1',
    ]);
    expect(await groups({ type: 'messages', group_by: 'source' })).toEqual(['bot 2 3.5', 'web 2 2']);
    expect(await groups({ group_by: 'subject' })).toEqual([
      ' 1 0',
      'ada@example.com 4 7.5',
      'bob@example.com 1 1',
    ]);
    const [day] = await groups({ group_by: 'day' });
    expect(day).toMatch(/^\d{4}-\d\d-\d\d 6 8\.5$/);
    expect((await groups({ group_by: 'hour' }))[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:00:00 6 8\.5$/);
    const first = await summary({ size: 2 });
    const second = await summary({ size: 2, cursor: first.next_page ?? '' });
    const third = await summary({ size: 2, cursor: second.next_page ?? '' });
    expect([first, second, third].flatMap(({ items }) => items.map(({ key }) => key)).length).toBe(5);
    expect(third.next_page).toBeNull();
    for (const each of [first, second, third]) expect(each.total).toEqual({ events: 6, value: 8.5 });
    expectStatus(await metrics.get('summary', { cursor: '*' }), 400);
    expectStatus(await metrics.get('summary', { group_by: 'colour' }), 422);
  });
});

describe("the service's own events", () => {
  test('tell of people who are added, changed and deleted, and of who signs in and out', async () => {
    const metrics = await freshMetrics();
    const { call, adminKey } = setting;
    const root = `/admin/api/workspaces/${metrics.workspace}`;
    const email = 'grace@example.com';
    const { id } = bodyOf<{ id: string }>(
      await call('POST', `${root}/users`, { key: adminKey, json: { email } }),
      201,
    );
    expectStatus(await call('PATCH', `${root}/users/${id}`, { key: adminKey, json: { name: 'Grace' } }), 200);
    const json = { name: 'portal', scopes: ['admin'], user_email: 'portal@example.com' };
    const { key } = bodyOf<{ key: string }>(await call('POST', `${root}/keys`, { key: adminKey, json }), 201);
    const opened = await call('POST', '/admin/api/session', { json: { key } });
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
    expectStatus(await call('DELETE', '/admin/api/session', { headers: { cookie } }), 204);
    expectStatus(await call('DELETE', `${root}/users/${id}`, { key: adminKey }), 204);
    const items = await metrics.everything.stored('atrium', 7);
    const told = items.map(({ type, subject, data }) => `${type} ${subject} ${JSON.stringify(data)}`).sort();
    const byAdmin = '{"value":1,"provider":"admin"}';
    const byKey = '{"value":1,"provider":"key"}';
    expect(told).toEqual([
      `auth.user.create ${email} ${byAdmin}`,
      `auth.user.create meter@example.com ${byAdmin}`,
      `auth.user.create portal@example.com ${byAdmin}`,
      `auth.user.delete ${email} ${byAdmin}`,
      `auth.user.login portal@example.com ${byKey}`,
      `auth.user.logout portal@example.com ${byKey}`,
      `auth.user.update ${email} ${byAdmin}`,
    ]);
  });
});

test('the page of metrics and the readiness tell how the buffer does', async () => {
  const ready = bodyOf<{ services: Record<string, object> }>(await setting.call('GET', '/readyz'), 200);
  expect(ready.services['usage_events']).toMatchObject({ state: 'ready', synced_before_acknowledged: true });
  const metrics = await setting.call('GET', '/metrics');
  expect(metrics.text).toContain('atrium_usage_stored_events_total');
});
