// What the servers behind the service are told of a trace: each request of a client names it, also one that is repeated.

import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config.ts';
import { beginTrace, inTrace } from '../../src/core/tracing.ts';
import { createIndexes } from '../../src/infra/meilisearch/indexes.ts';
import { createObjectStore } from '../../src/infra/s3/client.ts';
import { startTelemetry } from '../../src/infra/telemetry/index.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';

const log = { info: () => undefined, warn: () => undefined };

/** A server that fails its first request and answers the others. */
function startServer(answer: () => Response) {
  const requests: Headers[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ headers }) {
      requests.push(headers);
      return requests.length === 1 ? new Response('', { status: 503 }) : answer();
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

async function traced(work: () => Promise<unknown>) {
  await using receiver = startOtlpReceiver();
  const settings = loadConfig({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
  if (settings.tracing === undefined) throw new Error('tracing is off');
  const telemetry = await startTelemetry(settings.tracing, { version: '0', log });
  const trace = beginTrace('the test', () => ({}));
  if (trace === undefined) throw new Error('the trace is not sampled');
  await inTrace(trace, work);
  trace.end();
  await telemetry.close(60_000);
  return { trace, spans: await receiver.trace(trace.traceId, ['the test']) };
}

test('a call of the object store is one span; each attempt has its trace in a header that is not signed', async () => {
  await using store = startServer(() => new Response('', { headers: { etag: '"1"' } }));
  const objects = createObjectStore({
    endpoint: store.url,
    publicEndpoint: store.url,
    region: 'us-east-1',
    bucket: 'atrium',
    accessKeyId: 'key',
    secretAccessKey: 'secret',
    formProfile: 'standard',
  });
  const { trace, spans } = await traced(() => objects.head('some/key'));
  objects.close();
  const [call, ...more] = spans.filter(({ name }) => name !== 'the test');
  expect([call?.name, call?.parentSpanId, more]).toEqual(['S3/HeadObject', trace.spanId, []]);
  expect(store.requests.length).toBe(2);
  for (const headers of store.requests) {
    expect(headers.get('traceparent')).toBe(`00-${trace.traceId}-${call?.spanId}-01`);
    expect(headers.get('authorization')).not.toContain('traceparent');
  }
});

test('a request of the search server has the trace of its own span', async () => {
  await using search = startServer(() => Response.json({ status: 'available' }));
  const indexes = createIndexes({ url: search.url, apiKey: 'key' });
  const { trace, spans } = await traced(async () => {
    await indexes.healthy(AbortSignal.timeout(60_000)).catch(() => undefined);
    expect(await indexes.healthy(AbortSignal.timeout(60_000))).toBe(true);
  });
  const calls = spans.filter(({ name }) => name === 'GET meilisearch');
  expect(calls.map(({ status }) => status)).toEqual([2, 0]);
  expect(search.requests.map((headers) => headers.get('traceparent'))).toEqual(
    calls.map(({ spanId }) => `00-${trace.traceId}-${spanId}-01`),
  );
});
