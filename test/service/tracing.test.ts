// Traces of a running service, as its collector receives them.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { startScriptedModel } from '../support/scripted-model.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';

/** The queue of the service; far more than one test leaves in it. */
const QUEUE_MAX = 400;
/** A workspace whose prompts and answers are in its spans; that of the others is not named. */
const SHOWN = 'shown';

const receiver = await shared(startOtlpReceiver());
const model = await shared(startScriptedModel());
const modelsFile = join(freshFolder(), 'models.yaml');
writeFileSync(modelsFile, model.modelsFile);
const service = await shared(
  startService({
    environment: {
      MODELS_CONFIG: modelsFile,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-token=secret%20token',
      // Also where the collector, which is this process, is given no processor for a while: what fails is lost.
      OTEL_EXPORTER_OTLP_TIMEOUT: '10000',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=tests',
      // A caller's decision holds; without one no trace is sampled.
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BSP_MAX_QUEUE_SIZE: String(QUEUE_MAX),
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '50',
      TRACE_CONTENT_WORKSPACES: SHOWN,
    },
  }),
);

type Trace = { traceId: string; spanId: string; traceparent: string };

const randomHex = (bytes: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('hex');

function newTrace(flags = '01'): Trace {
  const [traceId, spanId] = [randomHex(16), randomHex(8)];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

async function call(
  method: string,
  path: string,
  { headers = {}, body, key = BOOTSTRAP_KEY }: { headers?: object; body?: unknown; key?: string } = {},
): Promise<{ status: number; json: Record<string, unknown>; requestId: string }> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      apikeyheader: key,
      'svc-key': key,
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
  return { status: response.status, json, requestId: response.headers.get('x-request-id') ?? '' };
}

type Line = Record<string, unknown>;
const accessLineOf = (requestId: string): Promise<Line> =>
  eventually('the line of the access log', () => {
    const whole = service.child.output().split('\n').slice(0, -1);
    const line = whole.find(
      (each) => each.includes(`"request_id":"${requestId}"`) && each.includes('"route"'),
    );
    return line !== undefined && (JSON.parse(line) as Line);
  });

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name} among ${spans.map((span) => span.name)}`);
  return found;
};

/** Whether the span is below the other one, at any depth. */
function isBelow(spans: readonly ReceivedSpan[], span: ReceivedSpan, ancestor: ReceivedSpan): boolean {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent !== undefined && (parent === ancestor || isBelow(spans, parent, ancestor));
}

const CHANNEL = 'web/widget/main';
async function say(
  message: string,
  options: { headers?: object; workspace?: string; key?: string } = {},
): ReturnType<typeof call> {
  const { workspace = WORKSPACE, ...rest } = options;
  const session = `session-${randomHex(6)}`;
  const create = `/api/v1/chat/messages/create-chat-session/${workspace}/${CHANNEL}`;
  const body = { agi_id: 'any', channel_session_id: session };
  expect((await call('POST', create, { body, ...(rest.key ? { key: rest.key } : {}) })).status).toBe(200);
  return call(
    'POST',
    `/api/v1/chat/messages/send-message/${workspace}/${CHANNEL}/bychannelsession/${session}`,
    {
      ...rest,
      body: { message, channel_user_message_id: randomHex(6), channel_assistant_message_id: randomHex(6) },
    },
  );
}

const sendEvents = (headers: object) =>
  call('POST', `/api/v1/workspace_metric/${WORKSPACE}/events`, {
    headers: { 'content-type': 'application/cloudevents+json', ...headers },
    body: {
      specversion: '1.0',
      id: randomHex(8),
      source: 'tests',
      type: 'tests.trace',
      data: { value: 1 },
    },
  });

test("the confirm of an upload is one tree below its caller's span: store and database", async () => {
  const descriptor = await call('GET', `/v1/${WORKSPACE}/presigned/url`);
  const { url, fields } = descriptor.json as { url: string; fields: Record<string, string> };
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob(['text']));
  expect((await fetch(url, { method: 'POST', body: form })).status).toBe(204);

  const trace = newTrace();
  const confirmed = await call('POST', `/v1/${WORKSPACE}/upload/confirm`, {
    headers: { traceparent: trace.traceparent, tracestate: 'vendor=kept' },
    body: { temp_key: fields['key'], document_metadata: { name: 'traced.txt', summary: 'private words' } },
  });
  expect(confirmed.status).toBe(201);
  const route = 'POST /v1/{workspace_id}/upload/confirm';
  const spans = await receiver.trace(trace.traceId, [route, 'S3/CopyObject', 'INSERT documents']);
  const server = named(spans, route);
  expect(server).toMatchObject({
    parentSpanId: trace.spanId,
    kind: 2,
    state: 'vendor=kept',
    status: 0,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/{workspace_id}/upload/confirm',
      'http.response.status_code': 201,
      'url.path': `/v1/${WORKSPACE}/upload/confirm`,
      'atrium.workspace.id': WORKSPACE,
      'atrium.request.id': confirmed.requestId,
    },
    resource: { 'service.name': 'atrium', 'deployment.environment.name': 'tests' },
  });
  const copy = named(spans, 'S3/CopyObject');
  expect(copy).toMatchObject({
    kind: 3,
    attributes: { 'rpc.system': 'aws-api', 'rpc.method': 'CopyObject' },
  });
  const insert = named(spans, 'INSERT documents');
  expect(insert).toMatchObject({ kind: 3, attributes: { 'db.system.name': 'postgresql' } });
  expect(insert.attributes['db.query.text']).toContain('$1');
  for (const span of [copy, insert]) {
    expect(isBelow(spans, span, server)).toBe(true);
    // The SDK begins each span at a whole millisecond of the clock.
    expect(span.startNs >= server.startNs && span.endNs <= server.endNs + 1_000_000n).toBe(true);
  }
  expect(receiver.headers()?.get('x-collector-token')).toBe('secret token');
});

test('a chat message is one tree with its agent, the call of its model and the attempt that the upstream is told of', async () => {
  model.play(() => ['Good ', 'day.']);
  const trace = newTrace();
  const answered = await say('How are you?', { headers: { traceparent: trace.traceparent } });
  expect(answered.json['answer']).toBe('Good day.');
  const spans = await receiver.trace(trace.traceId, [
    /^POST .*send-message/,
    'invoke_agent',
    'chat scripted',
    'POST',
  ]);
  const [server] = spans.filter(({ kind }) => kind === 2);
  const agent = named(spans, 'invoke_agent');
  const chat = named(spans, 'chat scripted');
  const attempt = named(spans, 'POST');
  expect(server?.parentSpanId).toBe(trace.spanId);
  expect([agent.parentSpanId, chat.parentSpanId, attempt.parentSpanId]).toEqual([
    server?.spanId ?? '',
    agent.spanId,
    chat.spanId,
  ]);
  expect(chat).toMatchObject({
    kind: 3,
    status: 0,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'scripted',
      'gen_ai.response.model': 'scripted',
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
    },
  });
  expect(attempt.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'server.address': '127.0.0.1',
  });
  expect(model.headers.at(-1)?.get('traceparent')).toBe(`00-${trace.traceId}-${attempt.spanId}-01`);
});

test('an embedding has the span of its model', async () => {
  const trace = newTrace();
  const embedded = await call('POST', `/${WORKSPACE}/v1/embeddings`, {
    headers: { traceparent: trace.traceparent },
    body: { input: ['private words'], model: 'local-multilingual-e1' },
  });
  expect(embedded.status).toBe(200);
  const spans = await receiver.trace(trace.traceId, [
    'POST /{workspace_id}/v1/embeddings',
    'embeddings local-multilingual-e1',
  ]);
  expect(named(spans, 'embeddings local-multilingual-e1')).toMatchObject({
    parentSpanId: named(spans, 'POST /{workspace_id}/v1/embeddings').spanId,
    attributes: { 'gen_ai.operation.name': 'embeddings', 'gen_ai.provider.name': 'atrium' },
  });
});

test('a usage event is followed through the buffer into the database', async () => {
  const trace = newTrace();
  expect((await sendEvents({ traceparent: trace.traceparent })).status).toBe(202);
  const spans = await receiver.trace(trace.traceId, [
    /events$/,
    'publish journal',
    'process journal',
    /usage_/,
  ]);
  const publish = named(spans, 'publish journal');
  const process = named(spans, 'process journal');
  expect(publish).toMatchObject({ kind: 4, attributes: { 'messaging.operation.type': 'send' } });
  expect(process).toMatchObject({
    kind: 5,
    parentSpanId: publish.spanId,
    attributes: { 'messaging.operation.type': 'process', 'messaging.destination.name': 'journal' },
  });
  const stored = spans.filter(({ parentSpanId }) => parentSpanId === process.spanId);
  expect(stored.some(({ attributes }) => attributes['db.system.name'] === 'postgresql')).toBe(true);
});

test('the log names the trace of a request, sampled or not, and the upstream is told of it', async () => {
  for (const flags of ['01', '00']) {
    const trace = newTrace(flags);
    const answered = await say('And now?', { headers: { traceparent: trace.traceparent } });
    const line = await accessLineOf(answered.requestId);
    expect(line).toMatchObject({ trace_id: trace.traceId, span_id: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(model.headers.at(-1)?.get('traceparent')).toMatch(
      new RegExp(`^00-${trace.traceId}-[0-9a-f]{16}-${flags}$`),
    );
  }
});

test('a caller who decided against sampling is heeded, and so is the ratio', async () => {
  const refused = newTrace('00');
  const { requestId } = await call('GET', `/v1/${WORKSPACE}/trash`, {
    headers: { traceparent: refused.traceparent },
  });
  const alone = await call('GET', `/v1/${WORKSPACE}/trash`);
  const ownTrace = (await accessLineOf(alone.requestId))['trace_id'];
  expect(ownTrace).toMatch(/^[0-9a-f]{32}$/);
  expect(requestId).not.toBe('');
  // What is exported after them shows that they were not.
  const later = newTrace();
  await call('GET', `/v1/${WORKSPACE}/trash`, { headers: { traceparent: later.traceparent } });
  await receiver.trace(later.traceId, ['GET /v1/{workspace_id}/trash']);
  const exported = new Set(receiver.spans.map(({ traceId }) => traceId));
  expect([refused.traceId, String(ownTrace)].filter((id) => exported.has(id))).toEqual([]);
});

test('a header that is no trace context begins a trace of its own', async () => {
  const id = randomHex(16);
  for (const traceparent of [
    `00-${id}-${'0'.repeat(16)}-01`,
    `ff-${id}-${randomHex(8)}-01`,
    `00-${id.toUpperCase()}x-${randomHex(8)}-01`,
    `00-${id}-${randomHex(8)}-01-more`,
    `00-${id}-${randomHex(8)}`,
    'x'.repeat(20_000),
  ]) {
    const { status, requestId } = await call('GET', `/v1/${WORKSPACE}/trash`, { headers: { traceparent } });
    expect(status).toBe(200);
    const line = await accessLineOf(requestId);
    expect(line['trace_id']).toMatch(/^[0-9a-f]{32}$/);
    expect(line['trace_id']).not.toBe(id);
  }
});

test('a refusal of the caller is no error of the span; probes have no spans', async () => {
  const trace = newTrace();
  await call('GET', '/healthz', { headers: { traceparent: trace.traceparent } });
  await call('GET', '/v1/elsewhere/trash?cursor=plover', {
    headers: { traceparent: trace.traceparent },
  });
  const spans = await receiver.trace(trace.traceId, ['GET /v1/{workspace_id}/trash']);
  expect(spans.map(({ name }) => name)).toEqual(['GET /v1/{workspace_id}/trash']);
  expect(spans[0]).toMatchObject({ status: 0, attributes: { 'http.response.status_code': 403 } });
});

test('prompts and answers are only in the spans of workspaces that are named', async () => {
  model.play((messages) => [`Heard: ${messages.at(-1)?.content}`]);
  expect((await call('POST', '/admin/api/workspaces', { body: { id: SHOWN } })).status).toBe(201);
  const people = `/admin/api/workspaces/${SHOWN}`;
  await call('POST', `${people}/users`, { body: { email: 'ada@example.com' } });
  const made = await call('POST', `${people}/keys`, {
    body: { name: 'chat', scopes: ['chat'], user_email: 'ada@example.com' },
  });
  const hidden = newTrace();
  const shown = newTrace();
  await say('A plover question', { headers: { traceparent: hidden.traceparent } });
  const question = {
    headers: { traceparent: shown.traceparent },
    workspace: SHOWN,
    key: String(made.json['key']),
  };
  await say('An open question', question);
  for (const { traceId } of [hidden, shown])
    await receiver.trace(traceId, ['chat scripted', 'POST', /^POST .*send-message/]);
  const chatOf = ({ traceId }: Trace): ReceivedSpan =>
    named(
      receiver.spans.filter((span) => span.traceId === traceId),
      'chat scripted',
    );
  expect(Object.keys(chatOf(hidden).attributes).filter((name) => /messages/.test(name))).toEqual([]);
  const { attributes } = chatOf(shown);
  expect(JSON.parse(String(attributes['gen_ai.input.messages'])).at(-1)).toEqual({
    role: 'user',
    parts: [{ type: 'text', content: 'An open question' }],
  });
  expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([
    {
      role: 'assistant',
      parts: [{ type: 'text', content: 'Heard: An open question' }],
      finish_reason: 'stop',
    },
  ]);
});

test('no span holds a key, a signature, a query or a text of people', async () => {
  model.play(() => ['My plover answer']);
  const { traceId, traceparent } = newTrace();
  const headers = { traceparent };
  await say('My plover question', { headers });
  await call('GET', `/v1/${WORKSPACE}/presigned/url`, { headers });
  await call('GET', `/v1/${WORKSPACE}/trash?cursor=plover`, {
    headers: { ...headers, cookie: 'a=plover' },
  });
  await call('GET', `/api/v1/workspace_metric/${WORKSPACE}/by_created_at?authorization=${BOOTSTRAP_KEY}`, {
    headers,
  });
  await receiver.trace(traceId, ['chat scripted', /presigned/, /trash/, /by_created_at/]);
  const all = JSON.stringify(receiver.spans, (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  for (const secret of [
    BOOTSTRAP_KEY,
    'X-Amz-Signature',
    'private words',
    'plover',
    'How are you?',
    'Good day.',
  ])
    expect(all).not.toContain(secret);
});

const figures = async (): Promise<Record<string, number>> => {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const rows = [...text.matchAll(/^atrium_trace_spans_total\{outcome="(\w+)"\} (\d+)$/gm)];
  const [, waiting] = /^atrium_trace_spans_waiting (\d+)$/m.exec(text) ?? [];
  return Object.fromEntries([
    ...rows.map(([, name, value]) => [name, Number(value)]),
    ['waiting', Number(waiting)],
  ]);
};

for (const mode of ['hangs', 'is-full', 'refuses'] as const)
  test(`a collector that ${mode.replace('-', ' ')} costs spans, which are counted, and no request`, async () => {
    const before = await figures();
    receiver.turn(mode);
    // More spans than the queue holds, each in a trace of its own.
    for (let round = 0; round < 10; round++) {
      const answers = Array.from({ length: 60 }, () =>
        call('GET', `/v1/${WORKSPACE}/trash`, { headers: { traceparent: newTrace().traceparent } }),
      );
      for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
    }
    const lost = async (): Promise<number> => {
      const now = await figures();
      expect(now['waiting']).toBeLessThanOrEqual(QUEUE_MAX);
      return (
        (now['dropped'] ?? 0) + (now['failed'] ?? 0) - (before['dropped'] ?? 0) - (before['failed'] ?? 0)
      );
    };
    await eventually('spans to be counted as lost', async () => (await lost()) > 0);
    receiver.turn('takes');
    await eventually('spans to be exported again', async () => {
      const { traceId, traceparent } = newTrace();
      await call('GET', `/v1/${WORKSPACE}/trash`, { headers: { traceparent } });
      await Bun.sleep(100);
      return receiver.spans.some((span) => span.traceId === traceId);
    });
  });

test('a service whose collector is down answers every request, says so once, and ends', async () => {
  await using alone = await startService({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_BSP_SCHEDULE_DELAY: '10',
      OTEL_EXPORTER_OTLP_TIMEOUT: '300',
    },
  });
  const ask = () => fetch(`${alone.url}/v1/${WORKSPACE}/trash`, { headers: { apikeyheader: BOOTSTRAP_KEY } });
  const notices = (): number => alone.child.output().split('spans cannot be exported now').length - 1;
  await eventually('a notice in the log', async () => {
    expect((await ask()).status).toBe(200);
    return notices() > 0;
  });
  for (let request = 0; request < 20; request++) expect((await ask()).status).toBe(200);
  alone.child.kill('SIGTERM');
  expect(await alone.child.exited).toBe(0);
  expect(notices()).toBe(1);
});
