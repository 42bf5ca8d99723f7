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

describe('summaries by the time of the events', () => {
  /** Around the turns of months, days and daylight saving. */
  const TIMES = [
    '2026-01-31T22:59:59.999Z', // January in Berlin, and February in Kathmandu
    '2026-01-31T23:00:00.000Z', // February in Berlin
    '2026-02-01T00:00:00.000Z',
    '2026-10-25T00:30:00.000Z', // 02:30 in Berlin, in summer
    '2026-10-25T01:30:00.000Z', // 02:30 once more, in winter
    '2026-10-25T02:30:00.000Z',
  ];
  const prepared = async () => {
    const metrics = await freshMetrics();
    const sent = TIMES.map((time, index) => eventOf({ type: 'own.tick', time, data: { value: 2 ** index } }));
    expectStatus(await metrics.sendAll(sent), 202);
    await eventually(
      'all of them',
      async () => (await metrics.page({ include_total: true })).total === TIMES.length,
    );
    return async (query: Record<string, string>) => {
      const { items, total } = bodyOf<Summary>(
        await metrics.everything.get('summary', { time: 'event', type: 'own', ...query }),
        200,
      );
      return { items: items.map(({ key, value }) => `${key} ${value}`), total: total.value };
    };
  };
  const BERLIN = { timezone: 'Europe/Berlin' };

  test('go by months, days and hours of a time zone, also one of half hours and where clocks are set back', async () => {
    const sums = await prepared();
    expect((await sums({ group_by: 'month' })).items).toEqual(['2026-01 3', '2026-02 4', '2026-10 56']);
    expect((await sums({ group_by: 'month', ...BERLIN })).items).toEqual([
      '2026-01 1',
      '2026-02 6',
      '2026-10 56',
    ]);
    expect((await sums({ group_by: 'day', timezone: 'Asia/Kathmandu' })).items).toEqual([
      '2026-02-01 7',
      '2026-10-25 56',
    ]);
    const hours = await sums({ group_by: 'hour', ...BERLIN, from_date: '2026-10-25 00:00:00' });
    expect(hours.items).toEqual([
      '2026-10-25T02:00:00+01:00 16',
      '2026-10-25T02:00:00+02:00 8',
      '2026-10-25T03:00:00+01:00 32',
    ]);
    const newYork = await sums({ group_by: 'hour', timezone: 'America/New_York', to_date: '2026-02-01' });
    expect(newYork.items).toEqual([
      '2026-01-31T17:00:00-05:00 1',
      '2026-01-31T18:00:00-05:00 2',
      '2026-01-31T19:00:00-05:00 4',
    ]);
  });

  test('have bounds in their zone, where the bounds name none', async () => {
    const sums = await prepared();
    const january = { from_date: '2026-01-01 00:00:00', to_date: '2026-01-31 23:59:59.999' };
    expect((await sums({ ...january, group_by: 'type' })).total).toBe(3);
    expect((await sums({ ...january, ...BERLIN })).total).toBe(1);
    const ofUtc = { from_date: '2026-01-01T00:00:00Z', to_date: '2026-01-31T23:59:59.999Z' };
    expect((await sums({ ...ofUtc, ...BERLIN })).total).toBe(3);
    expect((await sums({ from_date: '2026-02-01', ...BERLIN, group_by: 'subject' })).total).toBe(62);
  });

  test('are of the time of storage unless they say otherwise', async () => {
    const sums = await prepared();
    const year = `${new Date().getUTCFullYear()}`;
    for (const timezone of ['UTC', 'Europe/Berlin', 'Asia/Kolkata'])
      for (const group_by of ['month', 'day', 'hour']) {
        const { items, total } = await sums({ time: 'stored', group_by, timezone });
        expect(total).toBe(63);
        for (const item of items) expect(item).toStartWith(year);
      }
  });
});

describe('a parameter or value that there is not', () => {
  test('is no time zone', async () => {
    const metrics = await freshMetrics();
    for (const timezone of ['Nowhere/Atlantis', '+02:00', 'EST5EDT4,M3', "UTC'", '']) {
      const answer = await metrics.get('summary', { timezone });
      expect(bodyOf<{ detail: { loc: string[] }[] }>(answer, 422).detail[0]?.loc).toEqual([
        'query',
        'timezone',
      ]);
    }
    expectStatus(await metrics.get('summary', { time: 'storage' }), 422);
  });

  test('is refused, so that no window is wider than it was meant', async () => {
    const metrics = await freshMetrics();
    const { call, adminKey } = setting;
    const models = `/admin/api/workspaces/${metrics.workspace}/model-usage`;
    const answers = [
      await metrics.get('summary', { form_date: '2026-01-01' }),
      await metrics.get('by_created_at', { form_date: '2026-01-01' }),
      await call('GET', models, { key: adminKey, query: { form_date: '2026-01-01' } }),
    ];
    for (const answer of answers)
      expect(bodyOf<{ detail: object[] }>(answer, 422).detail).toEqual([
        {
          type: 'extra_forbidden',
          loc: ['query', 'form_date'],
          msg: expect.stringContaining("'form_date' is not known here"),
          input: '2026-01-01',
        },
      ]);
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
