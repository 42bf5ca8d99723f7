// Spans on their way to the collector: each encoding arrives whole, and each failure of the collector costs spans alone, in time.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { beginTrace, Span, startSpan, tracingFigures } from '../../src/core/tracing.ts';
import { startTelemetry } from '../../src/infra/telemetry/index.ts';
import { eventually } from '../support/child.ts';
import { silentLog } from '../support/database.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';

const receiver = startOtlpReceiver();
afterAll(() => receiver[Symbol.asyncDispose]());
beforeEach(() => receiver.turn('takes'));

type Settings = Parameters<typeof startTelemetry>[0];

const SETTINGS: Settings = {
  url: `${receiver.url}/v1/traces`,
  headers: { authorization: 'Bearer collector' },
  protocol: 'http/json',
  compression: 'none',
  timeoutMs: 30_000,
  sampler: 'parentbased_always_on',
  ratio: 1,
  serviceName: 'atrium',
  resource: { room: '1' },
  queue: { spansMax: 100, batchMax: 50, delayMs: 50, timeoutMs: 30_000 },
  contentWorkspaces: [],
};

async function start(settings: Partial<Settings> = {}) {
  const telemetry = await startTelemetry({ ...SETTINGS, ...settings }, { version: '1', log: silentLog });
  return { [Symbol.asyncDispose]: () => telemetry.close(2000) };
}

const CALLER = '4bf92f3577b34da6a3ce929d0e0e4736';
const begin = (name: string): Span => {
  const headers = new Headers({
    traceparent: `00-${CALLER}-00f067aa0ba902b7-01`,
    tracestate: 'vendor=a"b',
  });
  const span = beginTrace(name, () => ({ kind: 'consumer' }), { headers });
  if (!(span instanceof Span)) throw new Error('the trace is not sampled');
  return span;
};
const receivedOf = ({ spanId }: Span) => receiver.spans.find((each) => each.spanId === spanId);
const figures = () => ({ ...tracingFigures() });

for (const protocol of ['http/json', 'http/protobuf'] as const)
  for (const compression of ['none', 'gzip'] as const)
    test(`${protocol}, compression ${compression}: a span arrives with all that it has`, async () => {
      await using _telemetry = await start({ protocol, compression });
      const linked = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
      const unsampled = { ...linked, spanId: 'c'.repeat(16), isSampled: false };
      const server = begin('GET /"quoted"');
      const options = {
        links: [linked, unsampled],
        attributes: { kept: 0.25, replaced: 'first', left: undefined },
      };
      const child = startSpan('below', () => options, server);
      child?.set({ replaced: 'second', large: 2 ** 40, no: false, list: ['\u2028', ''] });
      child?.set({ replaced: undefined });
      child?.fail('timeout');
      child?.end();
      child?.end();
      server.rename('renamed');
      server.end();
      const renamed = await eventually('the span', () => receivedOf(server));
      expect(child && receivedOf(child)).toMatchObject({
        traceId: CALLER,
        parentSpanId: server.spanId,
        kind: 1,
        status: 2,
        attributes: {
          kept: 0.25,
          replaced: 'second',
          large: 2 ** 40,
          no: false,
          list: ['\u2028', ''],
          'error.type': 'timeout',
        },
        links: [{ traceId: linked.traceId, spanId: linked.spanId }],
        resource: { 'service.name': 'atrium', room: '1' },
      });
      expect(renamed).toMatchObject({
        name: 'renamed',
        parentSpanId: '00f067aa0ba902b7',
        state: 'vendor=a"b',
        kind: 5,
      });
      expect(receiver.headers()?.get('authorization')).toBe('Bearer collector');
      expect(receiver.headers()?.get('content-encoding')).toBe(compression === 'gzip' ? 'gzip' : null);
    });

test('a trace that its caller has not sampled has a place, and is not exported', async () => {
  await using _telemetry = await start();
  const headers = new Headers({ traceparent: `00-${CALLER}-00f067aa0ba902b7-00` });
  const place = beginTrace('GET /', () => ({}), { headers });
  expect(place).toMatchObject({ traceId: CALLER, isSampled: false });
  expect(place?.spanId).not.toBe('00f067aa0ba902b7');
  if (place instanceof Span) place.end();
  const sampled = begin('after it');
  sampled.end();
  await eventually('the span', () => receivedOf(sampled));
  expect(receiver.spans.some(({ spanId }) => spanId === place?.spanId)).toBe(false);
});

test('a collector that is full is asked again until it takes them', async () => {
  await using _telemetry = await start();
  receiver.turn('is-full');
  const before = receiver.requests();
  const span = begin('patient');
  span.end();
  await eventually('the first request', () => receiver.requests() > before);
  receiver.turn('takes');
  await eventually('the span', () => receivedOf(span));
});

test('spans that the collector refuses, or does not take in time, are counted', async () => {
  for (const mode of ['refuses', 'hangs'] as const) {
    await using _telemetry = await start({ timeoutMs: 300 });
    receiver.turn(mode);
    begin(mode).end();
    await eventually('the failure', () => figures().failed === 1);
    expect(figures()).toEqual({ exported: 0, failed: 1, dropped: 0, waiting: 0 });
  }
});

test('while the collector hangs, only so many spans wait, and further ones are dropped', async () => {
  await using _telemetry = await start();
  receiver.turn('hangs');
  for (let made = 0; made < 150; made++) begin('many').end();
  expect(figures()).toEqual({ exported: 0, failed: 0, dropped: 50, waiting: 100 });
  receiver.turn('takes');
});
