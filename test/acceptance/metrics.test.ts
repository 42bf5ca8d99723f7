// Usage events: what is accepted is kept, once; what is read is complete, in order, and counted right.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { CloudEvent, emitterFor, HTTP, httpTransport, Mode } from 'cloudevents';
import { eventually } from '../support/child.ts';
import { bodyOf, expectStatus } from './support/caller.ts';
import {
  BATCH,
  createMetrics,
  eventOf,
  type MetricPage,
  type Metrics,
  STRUCTURED,
} from './support/metrics.ts';
import { type Setting, startSetting } from './support/setting.ts';

setDefaultTimeout(120_000);

type Ingested = {
  accepted: number;
  rejected: number;
  results: { index: number; id: string; status: string; error?: string }[];
};
type Entry = { type: string; loc: (string | number)[]; msg: string };
type Summary = {
  items: { key: string; events: number; value: number }[];
  total: { events: number; value: number };
  next_page: string | null;
};

let setting: Setting;
let workspaces = 0;
beforeAll(async () => {
  setting = await startSetting();
});
afterAll(() => setting.service[Symbol.asyncDispose]());

/** Metrics of a workspace that no other test uses. */
async function freshMetrics(): Promise<Metrics & { workspace: string; key: string; everything: Metrics }> {
  const workspace = `metrics-${++workspaces}`;
  const { call, adminKey } = setting;
  expectStatus(await call('POST', '/admin/api/workspaces', { key: adminKey, json: { id: workspace } }), 201);
  const json = { name: 'test', scopes: ['metrics'], user_email: 'meter@example.com' };
  const made = await call('POST', `/admin/api/workspaces/${workspace}/keys`, { key: adminKey, json });
  const { key } = bodyOf<{ key: string }>(made, 201);
  // The key's person was added for it, which is an event of its own: what is asked for begins behind it.
  const [added] = await createMetrics(call, { workspace, key }).stored('atrium', 1);
  const since = new Date(Date.parse(`${added?.created_at}Z`) + 1).toISOString().slice(0, -1);
  const own = createMetrics(call, { workspace, key, since });
  return { ...own, workspace, key, everything: createMetrics(call, { workspace, key }) };
}

const sourceOf = (): string => `source-${crypto.randomUUID()}`;

describe('ingestion', () => {
  test('takes an event in structured mode, and gives it back with every field', async () => {
    const metrics = await freshMetrics();
    const source = sourceOf();
    const data = {
      value: '1',
      persona_id: 3,
      chat_session_id: 12345678901234567890n,
      nested: { ü: [1.5, null, true] },
    };
    const text = JSON.stringify(
      eventOf({
        id: 'e-1',
        source,
        subject: 'ada@example.com',
        time: '2026-01-31T10:00:00.123456+02:00',
        traceid: 'x7',
        count: 3,
      }),
    ).replace(
      '{"value":"1"}',
      JSON.stringify({ ...data, chat_session_id: 0 }).replace(
        '"chat_session_id":0',
        '"chat_session_id":12345678901234567890',
      ),
    );
    const answer = bodyOf<Ingested>(await metrics.send(text), 202);
    expect(answer).toEqual({
      accepted: 1,
      rejected: 0,
      results: [{ index: 0, id: 'e-1', status: 'accepted' }],
    });
    await metrics.stored(source, 1);
    const raw = await metrics.get('by_created_at');
    expect(raw.text).toContain('"chat_session_id":12345678901234567890');
    const [item] = await metrics.stored(source, 1);
    expect(item).toEqual({
      specversion: '1.0',
      type: 'chat.create',
      event_id: 'e-1',
      time: '2026-01-31T08:00:00.123456',
      source,
      subject: 'ada@example.com',
      data: expect.objectContaining({ value: '1', persona_id: 3, nested: { ü: [1.5, null, true] } }),
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      workspace_id: metrics.workspace,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/),
      updated_at: item?.created_at ?? '',
      traceid: 'x7',
      count: 3,
    });
  });

  test('takes what the official SDK sends, in structured and binary mode, and a batch of its events', async () => {
    const metrics = await freshMetrics();
    const source = '/sdk/app';
    const url = `${setting.url}${metrics.root}/events?authorization=${metrics.key}`;
    const of = (id: string) =>
      new CloudEvent({
        id,
        source,
        type: 'messages.user.new',
        subject: 'bob@example.com',
        data: { value: '1', message_id: 7 },
        myext: 'é %41',
      });
    for (const mode of [Mode.STRUCTURED, Mode.BINARY]) {
      const emit = emitterFor(httpTransport(url), { mode });
      await emit(of(`sdk-${mode}`));
    }
    const batch = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': BATCH },
      body: JSON.stringify([of('sdk-batch')]),
    });
    expect(batch.status).toBe(202);
    const binary = HTTP.binary(of('sdk-fetch'));
    const sent = await fetch(url, {
      method: 'POST',
      headers: binary.headers as Record<string, string>,
      body: String(binary.body),
    });
    expect(sent.status).toBe(202);
    const items = await metrics.stored(source, 4);
    expect(items.map(({ event_id }) => event_id).sort()).toEqual([
      'sdk-batch',
      'sdk-binary',
      'sdk-fetch',
      'sdk-structured',
    ]);
    for (const item of items)
      expect(item).toMatchObject({ subject: 'bob@example.com', data: { value: '1', message_id: 7 } });
    for (const item of items) expect(item['myext']).toBeString();
  });

  test('stores a source and id once, however often and in whatever company it comes', async () => {
    const metrics = await freshMetrics();
    const [source, other] = [sourceOf(), sourceOf()];
    const event = eventOf({ id: 'same', source });
    await Promise.all(Array.from({ length: 20 }, () => metrics.sendAll([event, eventOf({ source }), event])));
    expectStatus(await metrics.send(eventOf({ id: 'same', source: other })), 202);
    await metrics.stored(source, 21);
    await metrics.stored(other, 1);
    const { total } = await metrics.page({ include_total: true });
    expect(total).toBe(22);
    expect((await metrics.all()).filter(({ event_id }) => event_id === 'same').length).toBe(2);
  });

  test('gives each event of a batch its own result', async () => {
    const metrics = await freshMetrics();
    const source = sourceOf();
    const answer = bodyOf<Ingested>(
      await metrics.sendAll([
        eventOf({ id: 'good', source }),
        eventOf({ id: '', source }),
        'no object',
        eventOf({ id: 'nul', source, data: { value: '1', text: 'a\0b' } }),
        eventOf({ id: 'late', source, time: '10000-01-01T00:00:00Z' }),
      ]),
      202,
    );
    expect(answer).toMatchObject({ accepted: 1, rejected: 4 });
    expect(answer.results.map(({ status }) => status)).toEqual([
      'accepted',
      'rejected',
      'rejected',
      'rejected',
      'rejected',
    ]);
    expect(answer.results.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    for (const { status, error } of answer.results) if (status === 'rejected') expect(error).not.toBe('');
    await metrics.stored(source, 1);
    expect((await metrics.page({ include_total: true })).total).toBe(1);
  });

  test('takes gzip, and media types in any case with parameters', async () => {
    const metrics = await freshMetrics();
    const source = sourceOf();
    const zipped = new Uint8Array(gzipSync(JSON.stringify([eventOf({ source })])));
    expectStatus(await metrics.post(zipped, { 'content-type': BATCH, 'content-encoding': 'gzip' }), 202);
    expectStatus(await metrics.send(eventOf({ source }), 'Application/CloudEvents+JSON; charset=utf-8'), 202);
    expectStatus(await metrics.send([eventOf({ source })], 'APPLICATION/CLOUDEVENTS-BATCH+JSON'), 202);
    await metrics.stored(source, 3);
    const bad = await metrics.post(new TextEncoder().encode('not gzip'), {
      'content-type': BATCH,
      'content-encoding': 'gzip',
    });
    expectStatus(bad, 422);
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(50_000_000, 32)));
    expectStatus(await metrics.post(bomb, { 'content-type': BATCH, 'content-encoding': 'gzip' }), 413);
    expectStatus(await metrics.post(zipped, { 'content-type': BATCH, 'content-encoding': 'br' }), 415);
  });

  test('refuses wrong media types as a whole', async () => {
    const metrics = await freshMetrics();
    for (const type of [
      'application/json',
      'text/plain',
      'application/cloudevents+xml',
      'application/cloudeventsx',
      '',
    ]) {
      expectStatus(await metrics.send(eventOf(), type), 415);
    }
    const headers = {
      'ce-id': '1',
      'ce-source': 's',
      'ce-type': 't',
      'ce-specversion': '1.0',
      'content-type': 'text/plain',
    };
    expectStatus(await metrics.post(new TextEncoder().encode('hello'), headers), 415);
  });

  test('bounds the size of an event, of a request, and the number of events', async () => {
    const metrics = await freshMetrics();
    const filled = (size: number) => eventOf({ data: { value: '1', fill: 'x'.repeat(size) } });
    expectStatus(await metrics.send(filled(999_700)), 202);
    expectStatus(await metrics.send(filled(1_000_100)), 413);
    expectStatus(await metrics.sendAll([eventOf(), filled(1_000_100)]), 413);
    expectStatus(await metrics.sendAll(Array.from({ length: 1000 }, () => eventOf())), 202);
    expectStatus(await metrics.sendAll(Array.from({ length: 1001 }, () => eventOf())), 413);
    expectStatus(await metrics.sendAll(Array.from({ length: 9 }, () => filled(990_000))), 413);
    const random = () =>
      eventOf({
        data: {
          value: '1',
          fill: Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)))
            .toString('base64')
            .repeat(12),
        },
      });
    expectStatus(await metrics.sendAll([random(), random(), random()]), 202);
    await eventually(
      'all of them',
      async () => (await metrics.page({ include_total: true, size: 0 })).total === 1004,
    );
  });

  test('answers exactly what is wrong with an event', async () => {
    const metrics = await freshMetrics();
    const mistakes = async (event: unknown): Promise<string[]> => {
      const { detail } = bodyOf<{ detail: Entry[] } & Ingested>(await metrics.send(event), 422);
      return detail.map(({ type, loc }) => `${type} ${loc.join('.')}`);
    };
    expect(await mistakes({})).toEqual([
      'missing body.id',
      'missing body.source',
      'missing body.specversion',
      'missing body.type',
    ]);
    expect(await mistakes(eventOf({ id: '' }))).toEqual(['string_too_short body.id']);
    expect(await mistakes(eventOf({ id: 7 }))).toEqual(['string_type body.id']);
    expect(await mistakes(eventOf({ id: 'x'.repeat(10_240) }))).toEqual(['string_too_long body.id']);
    expect(await mistakes(eventOf({ specversion: '0.3' }))).toEqual(['value_error body.specversion']);
    expect(await mistakes(eventOf({ data: [] }))).toEqual(['value_error body.data']);
    expect(await mistakes(eventOf({ data: 'x' }))).toEqual(['value_error body.data']);
    expect(await mistakes(eventOf({ data: {} }))).toEqual(['value_error body.data']);
    expect(await mistakes(eventOf({ data: undefined }))).toEqual(['value_error body.data']);
    expect(await mistakes(eventOf({ data_base64: 'eA==' }))).toEqual(['value_error body.data_base64']);
    expect(await mistakes(eventOf({ datacontenttype: 'text/xml' }))).toEqual([
      'value_error body.datacontenttype',
    ]);
    expect(await mistakes(eventOf({ Upper: 'x' }))).toEqual(['value_error body.Upper']);
    expect(await mistakes(eventOf({ ext: {} }))).toEqual(['value_error body.ext']);
    expect(await mistakes(eventOf({ subject: 3 }))).toEqual(['string_type body.subject']);
    for (const time of [
      'yesterday',
      '1969-12-31T23:59:59Z',
      '2026-02-30T00:00:00Z',
      '+10000-01-01T00:00:00Z',
      '',
    ]) {
      expect(await mistakes(eventOf({ time }))).toEqual(['value_error body.time']);
    }
    const raw = (data: string) =>
      JSON.stringify(eventOf({ type: 't', data: 0 })).replace('"data":0', `"data":${data}`);
    expect(await mistakes(raw('{"a":"\\u0000"}'))).toEqual(['value_error body.data']);
    expect(await mistakes(raw('{"a":"\\ud800"}'))).toEqual(['value_error body.data']);
    expect(await mistakes(raw('{"\\udfff":1}'))).toEqual(['value_error body.data']);
    expect(await mistakes(raw('{"a":1e200000}'))).toEqual(['value_error body.data']);
    expect(await mistakes(raw(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`))).toEqual([
      'value_error body.data',
    ]);
    expect(
      await mistakes(JSON.stringify(eventOf()).replace('"source":"test"', '"source":"a\\u0000"')),
    ).toEqual(['value_error body.source']);
    expect(await mistakes(raw(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`))).toEqual(['value_error body.data']);
    expectStatus(await metrics.send(raw(`${'{"a":'.repeat(64)}1${'}'.repeat(64)}`)), 202);
    expect(await mistakes('{"a":')).toEqual(['json_invalid body.5']);
    expect(await mistakes('')).toEqual(['missing body']);
    const list = async (events: unknown) =>
      bodyOf<{ detail: Entry[] }>(await metrics.sendAll(events), 422).detail.map(
        ({ type, loc }) => `${type} ${loc.join('.')}`,
      );
    expect(await list([])).toEqual(['too_short body']);
    expect(await list({})).toEqual(['list_type body']);
    expect(await list([{ ...eventOf(), id: '' }, 3])).toEqual([
      'string_too_short body.0.id',
      'missing body.1.id',
      'missing body.1.source',
      'missing body.1.specversion',
      'missing body.1.type',
    ]);
    const headers = { 'ce-id': '1', 'ce-source': 's', 'content-type': 'application/json' };
    const binary = bodyOf<{ detail: Entry[] }>(
      await metrics.post(new TextEncoder().encode('{}'), headers),
      422,
    );
    expect(binary.detail.map(({ loc }) => loc.join('.'))).toEqual([
      'header.ce-specversion',
      'header.ce-type',
    ]);
    expect((await metrics.page({ include_total: true })).total).toBeLessThanOrEqual(1);
  });

  test('keeps late times and long numbers, and tells of a few mistakes of many', async () => {
    const metrics = await freshMetrics();
    const source = sourceOf();
    expectStatus(
      await metrics.send(
        eventOf({ source, type: 'sum', time: '9999-12-31T23:59:59.999999Z', data: { value: 0.1 + 0.2 } }),
      ),
      202,
    );
    expectStatus(
      await metrics.send(
        eventOf({ source, type: 'sum', time: '2300-01-01T00:00:00.000001Z', data: { value: 1e-7 } }),
      ),
      202,
    );
    const times = (await metrics.stored(source, 2)).map(({ time }) => time);
    expect(times.sort()).toEqual(['2300-01-01T00:00:00.000001', '9999-12-31T23:59:59.999999']);
    const { text } = await metrics.get('summary', { type: 'sum' });
    expect(text).toContain('"value":0.30000010000000004');
    const names = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`Wrong-${index}`, 1]));
    const refused = await metrics.sendAll(Array.from({ length: 20 }, () => eventOf(names)));
    expect(bodyOf<{ detail: Entry[] }>(refused, 422).detail.length).toBeLessThanOrEqual(1020);
  });

  test('takes an event without time, subject and data', async () => {
    const metrics = await freshMetrics();
    const source = sourceOf();
    const before = Date.now();
    expectStatus(await metrics.send({ specversion: '1.0', id: '1', source, type: 'own.type' }), 202);
    const [item] = await metrics.stored(source, 1);
    expect(item).toMatchObject({ subject: '', data: {} });
    expect(Math.abs(Date.parse(`${item?.time}Z`) - before)).toBeLessThan(10_000);
  });
});

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

describe('retrieval', () => {
  let metrics: Awaited<ReturnType<typeof freshMetrics>>;
  const COUNT = 230;
  beforeAll(async () => {
    metrics = await freshMetrics();
    // In several batches, so that there are several times of storage.
    for (let start = 0; start < COUNT; start += 46) {
      const events = Array.from({ length: 46 }, (_, index) =>
        eventOf({ id: `e-${start + index}`, source: 'walk' }),
      );
      expectStatus(await metrics.sendAll(events), 202);
      await metrics.stored('walk', start + 46);
    }
  });

  const ids = (page: MetricPage): string[] => page.items.map(({ id }) => id);

  test('walks forwards and backwards over the same pages', async () => {
    const forwards: MetricPage[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: MetricPage = await metrics.page({ size: 50, cursor });
      forwards.push(page);
      cursor = page.next_page;
    }
    expect(forwards.map(({ items }) => items.length)).toEqual([50, 50, 50, 50, 30]);
    const everything = forwards.flatMap(({ items }) => items);
    const order = everything.map(({ created_at, id }) => `${created_at} ${id}`);
    expect(order).toEqual(order.toSorted());
    expect(new Set(order).size).toBe(COUNT);
    expect(forwards[0]?.previous_page).toBeNull();

    const last = forwards.at(-1) as MetricPage;
    const backwards: MetricPage[] = [];
    for (let cursor: string | null = last.current_page_backwards; cursor !== null; ) {
      const page: MetricPage = await metrics.page({ size: 50, cursor });
      backwards.unshift(page);
      cursor = page.previous_page;
    }
    expect(backwards.flatMap(ids)).toEqual(forwards.flatMap(ids));
    expect(backwards.at(-1)?.next_page).toBeNull();
    for (const [index, page] of forwards.entries()) {
      expect(ids(await metrics.page({ size: 50, cursor: page.current_page }))).toEqual(ids(page));
      expect(
        ids(await metrics.page({ size: page.items.length, cursor: page.current_page_backwards })),
      ).toEqual(ids(page));
      const before = forwards[index - 1];
      if (before === undefined) continue;
      const back = await metrics.page({ size: 50, cursor: page.previous_page ?? '' });
      expect(ids(back)).toEqual(ids(before));
      expect(ids(await metrics.page({ size: 50, cursor: back.next_page ?? '' }))).toEqual(ids(page));
    }
  });

  test('cuts windows exactly, and counts what is in them', async () => {
    const everything = await metrics.all();
    const times = [...new Set(everything.map(({ created_at }) => created_at))];
    expect(times.length).toBeGreaterThan(1);
    for (const from of times) {
      for (const to of times.filter((time) => time >= from)) {
        const window = { from_date: from.replace('T', ' '), to_date: to.replace('T', ' ') };
        const expected = everything.filter(({ created_at }) => created_at >= from && created_at <= to);
        const page = await metrics.page({ ...window, size: 100, include_total: true });
        expect(page.total).toBe(expected.length);
        expect(ids(page)).toEqual(expected.slice(0, 100).map(({ id }) => id));
        const summary = bodyOf<Summary>(await metrics.get('summary', window), 200);
        expect(summary.total).toEqual({ events: expected.length, value: expected.length });
      }
    }
    const [first = ''] = times;
    const justAfter = new Date(Date.parse(`${first}Z`) + 1).toISOString().slice(0, -1);
    const rest = everything.filter(({ created_at }) => created_at > first);
    expect((await metrics.page({ from_date: justAfter, include_total: true })).total).toBe(rest.length);
    expect((await metrics.page({ from_date: '2999-01-01 00:00:00.000', include_total: true })).total).toBe(0);
  });

  test('gives no items for size 0, a total only when asked, and null where nothing follows', async () => {
    const empty = await metrics.page({ size: 0, include_total: true });
    expect(empty).toMatchObject({ items: [], total: COUNT, previous_page: null });
    expect((await metrics.page({ size: 100 })).total).toBeNull();
    expect((await metrics.page()).items.length).toBe(50);
    const none = await metrics.everything.page({ to_date: '2000-01-01 00:00:00.000' });
    expect(none).toMatchObject({ items: [], next_page: null, previous_page: null });
  });

  test('refuses cursors that it has not given for this window', async () => {
    const { next_page: given = '' } = await metrics.page({ size: 10 });
    const other = await freshMetrics();
    const windowed = (await metrics.page({ size: 1, from_date: '2020-01-01 00:00:00.000' })).next_page ?? '';
    const flipped = `${given?.slice(0, 5)}${given?.[5] === 'A' ? 'B' : 'A'}${given?.slice(6)}`;
    for (const cursor of [
      windowed,
      flipped,
      given?.slice(0, -1) ?? '',
      `${given}A`,
      'Pg==',
      'x',
      '*',
      'A'.repeat(5000),
    ]) {
      const answer = await metrics.get('by_created_at', { cursor, size: 10 });
      expect(bodyOf<object>(answer, 400)).toEqual({ detail: 'Invalid cursor value' });
    }
    expectStatus(await other.get('by_created_at', { cursor: given ?? '' }), 400);
  });

  test('takes bounds at the ends of time, and refuses those beyond', async () => {
    for (const [name, query] of [
      ['by_created_at', { include_total: true }],
      ['summary', {}],
    ] as const) {
      for (const to_date of ['9999-12-31 23:59:59.999', '9999-12-31T23:59:59.999Z']) {
        expectStatus(
          await metrics.get(name, { ...query, from_date: '0001-01-01 00:00:00.000', to_date }),
          200,
        );
      }
      expectStatus(await metrics.get(name, { ...query, to_date: '9999-12-31T23:59:59-05:00' }), 422);
      expectStatus(await metrics.get(name, { ...query, from_date: '0000-01-01T00:00:00+14:00' }), 422);
    }
    const { total } = await metrics.page({ to_date: '9999-12-31 23:59:59.999', include_total: true });
    expect(total).toBe(COUNT);
  });

  test('refuses other parameters that make no sense', async () => {
    const mistakes = async (query: Record<string, string>) =>
      bodyOf<{ detail: Entry[] }>(await metrics.get('by_created_at', query), 422).detail.map(
        ({ type, loc }) => `${type} ${loc.join('.')}`,
      );
    expect(await mistakes({ size: '101' })).toEqual(['less_than_equal query.size']);
    expect(await mistakes({ size: '-1' })).toEqual(['greater_than_equal query.size']);
    expect(await mistakes({ size: 'x' })).toEqual(['int_parsing query.size']);
    expect(await mistakes({ include_total: 'maybe' })).toEqual(['bool_parsing query.include_total']);
    expect(await mistakes({ from_date: 'yesterday' })).toEqual(['datetime_parsing query.from_date']);
    expect(await mistakes({ to_date: '2026-13-01 00:00:00.000' })).toEqual([
      'datetime_parsing query.to_date',
    ]);
    expect(
      await mistakes({ from_date: '2026-01-02 00:00:00.000', to_date: '2026-01-01 00:00:00.000' }),
    ).toEqual(['value_error query.to_date']);
  });

  test('walks forwards and backwards, while others write, meet whatever was there before, once and in order', async () => {
    const busy = await freshMetrics();
    const source = sourceOf();
    const sendSome = async (): Promise<void> => {
      const events = Array.from({ length: 30 }, () => eventOf({ source }));
      expectStatus(await busy.sendAll(events), 202);
    };
    for (let round = 0; round < 20; round++) await sendSome();
    await busy.stored(source, 600);
    let writing = true;
    const writers = Array.from({ length: 3 }, async () => {
      while (writing) {
        await sendSome();
        await Bun.sleep(30);
      }
    });
    for (let walk = 0; walk < 3; walk++) {
      const there = (await busy.all()).map(({ id }) => id);
      const wanted = new Set(there);
      const walkFrom = async (start: string, direction: 'next_page' | 'previous_page') => {
        const seen: string[] = [];
        let met = 0;
        for (let cursor: string | null = start; cursor !== null; ) {
          const page: MetricPage = await busy.page({ size: 37, cursor });
          if (direction === 'next_page') seen.push(...ids(page));
          else seen.unshift(...ids(page));
          // What comes meanwhile has no end.
          met += ids(page).filter((id) => wanted.has(id)).length;
          cursor = met >= wanted.size ? null : page[direction];
        }
        return seen;
      };
      // From behind the last page; what is written from now on is not part of the walk.
      let last = await busy.page({ size: 100 });
      while (last.next_page !== null) last = await busy.page({ size: 100, cursor: last.next_page });
      const forwards = await walkFrom('', 'next_page');
      const backwards = await walkFrom(last.current_page_backwards, 'previous_page');
      for (const seen of [forwards, backwards]) {
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.filter((id) => wanted.has(id))).toEqual(there);
      }
    }
    writing = false;
    await Promise.all(writers);
  });

  test('a reader at the tail meets every event once, while others write', async () => {
    const source = sourceOf();
    const busy = await freshMetrics();
    let writing = true;
    let sent = 0;
    const writers = Array.from({ length: 6 }, async () => {
      while (sent < 3000) {
        const events = Array.from({ length: 25 }, () => eventOf({ source }));
        sent += events.length;
        expectStatus(await busy.sendAll(events), 202);
      }
    });
    // It goes on from the last full page; a page that is not full yet is read again.
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for (let cursor = ''; ; ) {
        const last = !writing;
        const page = await busy.page({ size: 100, cursor });
        if (page.next_page !== null) {
          seen.push(...ids(page));
          cursor = page.next_page;
        } else if (last && page.items.length > 0 && seen.length + page.items.length >= sent) {
          seen.push(...ids(page));
          return;
        }
      }
    };
    const reader = read();
    await Promise.all(writers);
    writing = false;
    await reader;
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBe(sent);
    expect(seen).toEqual((await busy.all()).map(({ id }) => id));
  });
});

describe('summaries', () => {
  test('sums by type, day, hour, subject and source, below a prefix, page by page', async () => {
    const metrics = await freshMetrics();
    const of = (type: string, subject: string, source: string, value: unknown) =>
      eventOf({ type, subject, source, data: { value } });
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

test('the page of figures and the readiness tell how the buffer does', async () => {
  const ready = bodyOf<{ services: Record<string, object> }>(await setting.call('GET', '/readyz'), 200);
  expect(ready.services['usage_events']).toMatchObject({ state: 'ready', synced_before_acknowledged: true });
  const figures = await setting.call('GET', '/metrics');
  expect(figures.text).toContain('atrium_usage_stored_events_total');
});

test('structured mode is what the media type says, not what the body looks like', async () => {
  const metrics = await freshMetrics();
  expectStatus(await metrics.send([eventOf()], STRUCTURED), 422);
  expectStatus(await metrics.send(eventOf(), BATCH), 422);
});
