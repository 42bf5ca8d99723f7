// Taking usage events: what is accepted is kept, once, with every field; what is wrong is told exactly.

import { describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { CloudEvent, emitterFor, HTTP, httpTransport, Mode } from 'cloudevents';
import { eventually } from '../../support/child.ts';
import { shared } from '../../support/shared.ts';
import { bodyOf, expectStatus } from '../support/caller.ts';
import {
  BATCH,
  CHAT_DATA,
  createFreshMetrics,
  type Entry,
  eventOf,
  freshSource,
  STRUCTURED,
} from '../support/metrics.ts';
import { startSetting } from '../support/setting.ts';

type FieldKind = 'integer' | 'string' | 'boolean';

/** The table "Events" of the interface. */
const INTERFACE_FIELDS: Record<string, Record<string, FieldKind>> = {
  'auth.user.login': { value: 'integer', provider: 'string' },
  'auth.user.logout': { value: 'integer', provider: 'string' },
  'auth.user.create': { value: 'integer', provider: 'string' },
  'auth.user.delete': { value: 'integer', provider: 'string' },
  'auth.user.update': { value: 'integer', provider: 'string' },
  'chat.create': { value: 'string', persona_id: 'integer', chat_session_id: 'integer' },
  'chat.delete': { value: 'string', chat_session_id: 'integer' },
  'chat.rename': { value: 'string', chat_session_id: 'integer' },
  'messages.user.new': { value: 'string', message_id: 'integer', chat_session_id: 'integer' },
  'messages.user.feedback': {
    value: 'string',
    message_id: 'integer',
    is_positive: 'boolean',
    feedback_text: 'string',
  },
  'messages.user.delete': { value: 'string', message_id: 'integer' },
  'messages.user.update': { value: 'string', old_message_id: 'integer', new_message_id: 'integer' },
  'messages.rag.persona.new': { value: 'string', message_id: 'integer', chat_session_id: 'integer' },
  'messages.rag.agent.new': { value: 'string', message_id: 'integer', chat_session_id: 'integer' },
  'messages.rag.bot.new': { value: 'string', message_id: 'integer', chat_session_id: 'integer' },
  'messages.agent.new': {
    value: 'string',
    message_id: 'integer',
    chat_session_id: 'integer',
    agent_id: 'string',
  },
};
const GOOD = { integer: 7, string: '1', boolean: true };

type Ingested = {
  accepted: number;
  rejected: number;
  results: { index: number; id: string; status: string; error?: string; warning?: string }[];
};

const setting = await shared(startSetting());
const freshMetrics = createFreshMetrics(setting);

describe('ingestion', () => {
  test('takes an event in structured mode, and gives it back with every field', async () => {
    const metrics = await freshMetrics();
    const source = freshSource();
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
      JSON.stringify(CHAT_DATA),
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
        data: { value: '1', message_id: 7, chat_session_id: 17 },
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
      expect(item).toMatchObject({
        subject: 'bob@example.com',
        data: { value: '1', message_id: 7, chat_session_id: 17 },
      });
    for (const item of items) expect(item['myext']).toBeString();
  });

  test('stores a source and id once, however often and in whatever company it comes', async () => {
    const metrics = await freshMetrics();
    const [source, other] = [freshSource(), freshSource()];
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
    const source = freshSource();
    const answer = bodyOf<Ingested>(
      await metrics.sendAll([
        eventOf({ id: 'good', source }),
        eventOf({ id: '', source }),
        'no object',
        eventOf({ id: 'nul', source, data: { ...CHAT_DATA, text: 'a\0b' } }),
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
    const source = freshSource();
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
    ])
      expectStatus(await metrics.send(eventOf(), type), 415);
    const headers = {
      'ce-id': '1',
      'ce-source': 's',
      'ce-type': 't',
      'ce-specversion': '1.0',
      'content-type': 'text/plain',
    };
    const answer = await metrics.post(new TextEncoder().encode('hello'), headers);
    expect(bodyOf<{ detail: string }>(answer, 415).detail).toContain('content-type: application/json');
  });

  test('takes binary mode without a media type, as SDKs send it', async () => {
    const metrics = await freshMetrics();
    const source = freshSource();
    const headers = { 'ce-id': '1', 'ce-source': source, 'ce-type': 'chat.create', 'ce-specversion': '1.0' };
    expectStatus(await metrics.post(new TextEncoder().encode(JSON.stringify(CHAT_DATA)), headers), 202);
    expectStatus(await metrics.post(new Uint8Array(), { ...headers, 'ce-id': '2', 'ce-type': 'own' }), 202);
    const items = await metrics.stored(source, 2);
    expect(items.map(({ data }) => data)).toEqual([CHAT_DATA, { value: 1 }]);
  });

  test('takes the attributes of binary mode percent-encoded', async () => {
    const metrics = await freshMetrics();
    const source = freshSource();
    const headers = { 'ce-id': '1', 'ce-source': source, 'ce-type': 'own', 'ce-specversion': '1.0' };
    const post = (subject: string) => metrics.post(new Uint8Array(), { ...headers, 'ce-subject': subject });
    expectStatus(await post('Caf%C3%A9%20%E2%82%AC 100%'), 202);
    expect((await metrics.stored(source, 1)).map(({ subject }) => subject)).toEqual(['Café € 100%']);
    expectStatus(await post('%FF'), 422);
  });

  test('bounds the size of an event, of a request, and the number of events', async () => {
    const metrics = await freshMetrics();
    const filled = (size: number) => eventOf({ data: { ...CHAT_DATA, fill: 'x'.repeat(size) } });
    expectStatus(await metrics.send(filled(999_700)), 202);
    expectStatus(await metrics.send(filled(1_000_100)), 413);
    expectStatus(await metrics.sendAll([eventOf(), filled(1_000_100)]), 413);
    expectStatus(await metrics.sendAll(Array.from({ length: 1000 }, () => eventOf())), 202);
    expectStatus(await metrics.sendAll(Array.from({ length: 1001 }, () => eventOf())), 413);
    expectStatus(await metrics.sendAll(Array.from({ length: 9 }, () => filled(990_000))), 413);
    const random = () =>
      eventOf({
        data: {
          ...CHAT_DATA,
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
    for (const specversion of ['0.3', '1.0x', '1'])
      expect(await mistakes(eventOf({ specversion }))).toEqual(['value_error body.specversion']);
    expect(await mistakes(eventOf({ specversion: '' }))).toEqual(['string_too_short body.specversion']);
    expect(await mistakes(eventOf({ datacontenttype: 7 }))).toEqual(['value_error body.datacontenttype']);
    expect(await mistakes(eventOf({ data: [] }))).toEqual(['value_error body.data']);
    expect(await mistakes(eventOf({ data: 'x' }))).toEqual(['value_error body.data']);
    const missing = ['value', 'chat_session_id', 'persona_id'].map((name) => `missing body.data.${name}`);
    expect(await mistakes(eventOf({ data: {} }))).toEqual(missing);
    expect(await mistakes(eventOf({ data: undefined }))).toEqual(missing);
    for (const source of ['atrium', 'Atrium', 'atrium ', 'аtrium', 'atri\u200bum'])
      expect(await mistakes(eventOf({ source }))).toEqual(['value_error body.source']);
    for (const type of ['Chat.create', 'chat..create', '.chat', 'chat.', 'chat create', 'chat/create', 'é'])
      expect(await mistakes(eventOf({ type }))).toEqual(['value_error body.type']);
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
    ])
      expect(await mistakes(eventOf({ time }))).toEqual(['value_error body.time']);
    const raw = (data: string) =>
      JSON.stringify(eventOf({ type: 't', data: 0 })).replace('"data":0', `"data":${data}`);
    expect(await mistakes(raw('{"a":"\\u0000"}'))).toEqual(['value_error body.data']);
    expect(await mistakes(raw('{"a":"\\ud800"}'))).toEqual(['value_error body.data']);
    expect(await mistakes(raw('{"\\udfff":1}'))).toEqual(['value_error body.data']);
    expect(await mistakes(raw('{"a":1e200000}'))).toEqual(['value_error body.data']);
    const nested = (levels: number) => raw(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
    expect(await mistakes(nested(20_000))).toEqual(['value_error body.data']);
    expect(await mistakes(nested(160_000))).toEqual([expect.stringMatching(/^json_invalid body\.\d+$/)]);
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
    const source = freshSource();
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

  test('keeps data with a value, whatever an event of a type of its own says', async () => {
    const metrics = await freshMetrics();
    const source = freshSource();
    const sent = [undefined, null, {}, { value: null, a: 1 }, { value: 0 }, { value: '7.5' }, { value: [1] }];
    const events = sent.map((data, index) =>
      eventOf({ id: String(index), source, type: 'own.type_2-x', data }),
    );
    expectStatus(await metrics.sendAll(events), 202);
    const items = await metrics.stored(source, sent.length);
    const kept = items.sort((a, b) => a.event_id.localeCompare(b.event_id)).map(({ data }) => data);
    expect(kept).toEqual([
      { value: 1 },
      { value: 1 },
      { value: 1 },
      { value: 1, a: 1 },
      { value: 0 },
      { value: '7.5' },
      { value: [1] },
    ]);
    const { text } = await metrics.get('summary', { type: 'own' });
    expect(JSON.parse(text)).toMatchObject({ total: { events: 7, value: 11.5 } });
  });

  test('takes events of the interface with exactly their fields, and others beside them', async () => {
    const metrics = await freshMetrics();
    const source = freshSource();
    for (const [type, fields] of Object.entries(INTERFACE_FIELDS)) {
      const data: Record<string, unknown> = Object.fromEntries(
        Object.entries(fields).map(([name, kind]) => [name, GOOD[kind]]),
      );
      const event = (changed: Record<string, unknown>) =>
        eventOf({ source, type, data: { ...data, ...changed } });
      expectStatus(await metrics.send(event({ extra: { a: 1 } })), 202);
      const wrong = Object.entries(fields).flatMap(([name, kind]) => [
        event({ [name]: undefined }),
        event({ [name]: null }),
        ...Object.entries(GOOD)
          .filter(([other]) => other !== kind)
          .map(([, value]) => event({ [name]: value })),
        ...(kind === 'integer' ? [event({ [name]: 1.5 })] : []),
      ]);
      const { results, detail } = bodyOf<Ingested & { detail: Entry[] }>(await metrics.sendAll(wrong), 422);
      expect(results.map(({ status }) => status)).toEqual(wrong.map(() => 'rejected'));
      for (const { loc } of detail) expect(loc.slice(0, 3)).toEqual(['body', expect.any(Number), 'data']);
      expect(new Set(detail.map(({ loc }) => loc[3]))).toEqual(new Set(Object.keys(fields)));
      for (const { error } of results) expect(error).toMatch(/^data\.\w+: /);
    }
    await metrics.stored(source, Object.keys(INTERFACE_FIELDS).length);
  });

  test('takes an event without time, subject and data', async () => {
    const metrics = await freshMetrics();
    const source = freshSource();
    const before = Date.now();
    expectStatus(await metrics.send({ specversion: '1.0', id: '1', source, type: 'own.type' }), 202);
    const [item] = await metrics.stored(source, 1);
    expect(item).toMatchObject({ subject: '', data: { value: 1 } });
    expect(Date.parse(`${item?.time}Z`)).toBeWithin(before - 1000, Date.now() + 1000);
  });
});

test('structured mode is what the media type says, not what the body looks like', async () => {
  const metrics = await freshMetrics();
  expectStatus(await metrics.send([eventOf()], STRUCTURED), 422);
  expectStatus(await metrics.send(eventOf(), BATCH), 422);
});

test.each([[1e31], ['NaN'], ['Infinity'], ['many'], [''], [true], [[1]], [{ a: 1 }]])(
  'says that no sum adds the value %p',
  async (value) => {
    const metrics = await freshMetrics();
    const events = [
      eventOf({ type: 'own.odd', data: { value } }),
      eventOf({ type: 'own.odd', data: { value: 2 } }),
    ];
    const { results } = bodyOf<Ingested>(await metrics.sendAll(events), 202);
    expect(results.map(({ status }) => status)).toEqual(['accepted', 'accepted']);
    expect(results[0]?.warning).toStartWith('data.value: no number that can be summed');
    expect(results[1]).not.toHaveProperty('warning');
    const sums = await eventually('both', async () => {
      const { text } = await metrics.get('summary', { type: 'own.odd' });
      return text.includes('"total":{"events":2') && text;
    });
    expect(sums).toContain('"total":{"events":2,"value":2}');
  },
);
