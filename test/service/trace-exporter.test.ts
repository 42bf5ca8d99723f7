// Batches of spans on their way to the collector: each encoding arrives whole, and each failure of the collector ends an export in time.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { createExporter, FAILED, SUCCESS } from '../../src/infra/telemetry/exporter.ts';
import { createIds } from '../../src/infra/telemetry/ids.ts';
import { RecordedSpan } from '../../src/infra/telemetry/span.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';

const receiver = startOtlpReceiver();
afterAll(() => receiver[Symbol.asyncDispose]());
beforeEach(() => receiver.turn('takes'));

const ids = createIds();
const setting = {
  resource: resourceFromAttributes({ 'service.name': 'atrium' }),
  instrumentationScope: { name: 'atrium', version: '1' },
  onEnd: () => undefined,
};

function newSpan(name: string): RecordedSpan {
  const place = { traceId: ids.generateTraceId(), spanId: ids.generateSpanId() };
  const options = {
    kind: 'server',
    attributes: { text: 'é "quoted"\n', count: 7, list: ['a', 'b'] },
  } as const;
  const span = new RecordedSpan(setting, place, { name, options, parent: undefined });
  span.end();
  return span;
}

const endpoint = {
  url: `${receiver.url}/v1/traces`,
  headers: { authorization: 'Bearer collector' },
  protocol: 'http/json',
  compression: 'none',
  timeoutMs: 30_000,
} as const;

const exportBy = (exporter: ReturnType<typeof createExporter>, spans = [newSpan('one')]) =>
  new Promise<{ code: number; error?: Error }>((resolve) => exporter.export(spans, resolve));

for (const protocol of ['http/json', 'http/protobuf'] as const)
  for (const compression of ['none', 'gzip'] as const)
    test(`${protocol}, compression ${compression}: what arrives is what was sent`, async () => {
      const spans = [newSpan('first'), newSpan('second')];
      const result = await exportBy(createExporter({ ...endpoint, protocol, compression }), spans);
      expect(result).toEqual({ code: SUCCESS });
      const sent = new Set(spans.map(({ spanId }) => spanId));
      const received = receiver.spans.filter(({ spanId }) => sent.has(spanId));
      expect(received.map(({ name, traceId, attributes }) => ({ name, traceId, attributes }))).toEqual(
        spans.map(({ name, traceId, attributes }) => ({ name, traceId, attributes })),
      );
      expect(receiver.headers()?.get('authorization')).toBe('Bearer collector');
      expect(receiver.headers()?.get('content-encoding')).toBe(compression === 'gzip' ? 'gzip' : null);
    });

test('both encodings say the same of a span, with all that it can have', async () => {
  const place = () => ({ traceId: ids.generateTraceId(), spanId: ids.generateSpanId() });
  const caller = { ...place(), isSampled: true, state: 'vendor=a"b' };
  const linked = { ...place(), isSampled: true };
  const unsampled = { ...place(), isSampled: false };
  const server = new RecordedSpan(
    setting,
    { traceId: caller.traceId, spanId: ids.generateSpanId() },
    { name: 'GET /"quoted"', options: { kind: 'consumer', links: [linked, unsampled] }, parent: caller },
  );
  const child = new RecordedSpan(
    setting,
    { traceId: caller.traceId, spanId: ids.generateSpanId() },
    {
      name: 'below',
      options: { attributes: { kept: 0.25, replaced: 'first', left: undefined } },
      parent: server,
    },
  );
  child.set({ replaced: 'second', large: 2 ** 40, no: false, list: ['\u2028', ''] });
  child.set({ replaced: undefined });
  child.fail('timeout');
  child.end();
  server.rename('renamed');
  server.end();
  const told = async (protocol: 'http/json' | 'http/protobuf') => {
    const before = receiver.spans.length;
    await exportBy(createExporter({ ...endpoint, protocol }), [child, server]);
    return receiver.spans.slice(before);
  };
  const json = await told('http/json');
  expect(json).toEqual(await told('http/protobuf'));
  const [below, renamed] = json;
  expect(below).toMatchObject({
    parentSpanId: server.spanId,
    state: caller.state,
    kind: 1,
    status: 2,
    attributes: { kept: 0.25, replaced: 'second', large: 2 ** 40, no: false, list: ['\u2028', ''] },
    resource: { 'service.name': 'atrium' },
  });
  expect(below?.attributes['error.type']).toBe('timeout');
  expect(below?.attributes).not.toHaveProperty('left');
  expect(renamed).toMatchObject({
    name: 'renamed',
    parentSpanId: caller.spanId,
    kind: 5,
    links: [{ traceId: linked.traceId, spanId: linked.spanId }],
  });
  expect((renamed?.endNs ?? 0n) >= (below?.endNs ?? 1n)).toBe(true);
});

test('a collector that is full is asked again until it takes them', async () => {
  receiver.turn('is-full');
  const span = newSpan('patient');
  const before = receiver.requests();
  const exporting = exportBy(createExporter(endpoint), [span]);
  while (receiver.requests() === before) await Bun.sleep(5);
  receiver.turn('takes');
  expect(await exporting).toEqual({ code: SUCCESS });
  expect(receiver.spans.filter(({ spanId }) => spanId === span.spanId)).toHaveLength(1);
});

test('it fails where the collector refuses at once, and where it is full or silent until the time-out', async () => {
  receiver.turn('refuses');
  const before = receiver.requests();
  const refused = await exportBy(createExporter(endpoint));
  expect(refused.code).toBe(FAILED);
  expect(refused.error?.message).toBe('the collector answered 400');
  expect(receiver.requests()).toBe(before + 1);
  receiver.turn('is-full');
  // Shorter than the first pause: a second request might be cut off by the time-out before it is refused.
  const full = await exportBy(createExporter({ ...endpoint, timeoutMs: 750 }));
  expect(full.error?.message).toBe('the collector answered 503');
  receiver.turn('hangs');
  expect((await exportBy(createExporter({ ...endpoint, timeoutMs: 300 }))).code).toBe(FAILED);
  const nobody = createExporter({ ...endpoint, url: 'http://127.0.0.1:1/v1/traces', timeoutMs: 300 });
  expect((await exportBy(nobody)).code).toBe(FAILED);
});

test('at most two requests are under way: another batch fails at once', async () => {
  receiver.turn('hangs');
  const exporter = createExporter({ ...endpoint, timeoutMs: 3000 });
  const first = [exportBy(exporter), exportBy(exporter)];
  const third = await exportBy(exporter);
  expect(third.error?.message).toBe('earlier requests to the collector are not answered yet');
  for (const each of await Promise.all(first)) expect(each.code).toBe(FAILED);
  receiver.turn('takes');
  expect(await exportBy(exporter)).toEqual({ code: SUCCESS });
});

test('ids are of the form that the context requires, and do not repeat', () => {
  const traces = Array.from({ length: 5000 }, () => ids.generateTraceId());
  const spans = Array.from({ length: 5000 }, () => ids.generateSpanId());
  for (const id of traces) expect(id).toMatch(/^[0-9a-f]{32}$/);
  for (const id of spans) expect(id).toMatch(/^[0-9a-f]{16}$/);
  expect(new Set([...traces, ...spans]).size).toBe(10_000);
});
