// A collector of traces: it takes OTLP over HTTP as the protocol defines it, in protobuf or JSON, and can be told to fail. It runs in the
// process of the test.

import { eventually } from './child.ts';

export type ReceivedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  state: string;
  name: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  startNs: bigint;
  endNs: bigint;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  /** 0 unset, 1 ok, 2 error. */
  status: number;
  resource: Record<string, unknown>;
};

/** How it answers: as a collector does, never, with 503, or with 400. */
export type ReceiverMode = 'takes' | 'hangs' | 'is-full' | 'refuses';

export type OtlpReceiver = AsyncDisposable & {
  url: string;
  spans: ReceivedSpan[];
  /** Of the last request. */
  headers(): Headers | undefined;
  /** Requests since the start, also those that it did not take. */
  requests(): number;
  turn(mode: ReceiverMode): void;
  /** Waits until the spans of a trace have these names among them; returns all of the trace. */
  trace(traceId: string, names: readonly (string | RegExp)[]): Promise<ReceivedSpan[]>;
};

export function startOtlpReceiver(): OtlpReceiver {
  const spans: ReceivedSpan[] = [];
  let mode: ReceiverMode = 'takes';
  let headers: Headers | undefined;
  let requests = 0;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      requests += 1;
      headers = request.headers;
      if (mode === 'hangs') return new Promise<Response>(() => undefined);
      if (mode === 'is-full') return new Response('', { status: 503 });
      if (mode === 'refuses') return new Response('', { status: 400 });
      if (request.method !== 'POST' || new URL(request.url).pathname !== '/v1/traces')
        return new Response('', { status: 404 });
      const sent = await request.bytes();
      const body = headers.get('content-encoding') === 'gzip' ? Bun.gunzipSync(sent) : sent;
      const isJson = headers.get('content-type') === 'application/json';
      spans.push(...(isJson ? readJson(body) : readProtobuf(body)));
      return isJson
        ? Response.json({})
        : new Response(new Uint8Array(), { headers: { 'content-type': 'application/x-protobuf' } });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    spans,
    headers: () => headers,
    requests: () => requests,
    turn(next) {
      mode = next;
    },
    trace: (traceId, names) =>
      eventually(`spans of ${traceId}: ${names.join(', ')}`, () => {
        const found = spans.filter((span) => span.traceId === traceId);
        const isThere = (name: string | RegExp): boolean =>
          found.some((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)));
        return names.every(isThere) && found;
      }),
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

// ---- http/json

type JsonValue = {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: string | number;
  doubleValue?: number;
  arrayValue?: { values?: JsonValue[] };
};
type JsonAttributes = { key: string; value: JsonValue }[];
type JsonSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: JsonAttributes;
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
};
type JsonRequest = {
  resourceSpans: {
    resource?: { attributes?: JsonAttributes };
    scopeSpans: { spans: JsonSpan[] }[];
  }[];
};

function readJson(body: Uint8Array): ReceivedSpan[] {
  const toValue = (value: JsonValue): unknown => {
    if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(toValue);
    if (value.intValue !== undefined) return Number(value.intValue);
    return value.stringValue ?? value.boolValue ?? value.doubleValue;
  };
  const toAttributes = (attributes: JsonAttributes = []): Record<string, unknown> =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]));
  const { resourceSpans } = JSON.parse(new TextDecoder().decode(body)) as JsonRequest;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        state: span.traceState ?? '',
        name: span.name,
        kind: span.kind,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        attributes: toAttributes(span.attributes),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
        status: span.status?.code ?? 0,
        resource: toAttributes(resource?.attributes),
      })),
    ),
  );
}

// ---- http/protobuf: https://protobuf.dev/programming-guides/encoding/, with the field numbers of trace.proto, common.proto

type Field = { number: bigint; bytes: Uint8Array };

/** The fields of a message by their numbers: numbers as they are, everything of a length as its bytes. */
function readMessage(bytes: Uint8Array): Map<number, Field[]> {
  const fields = new Map<number, Field[]>();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Uint8Array => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    let field: Field;
    if ((tag & 7) === 0) field = { number: varint(), bytes: new Uint8Array() };
    else if ((tag & 7) === 1) {
      field = { number: view.getBigUint64(at, true), bytes: take(8) };
    } else if ((tag & 7) === 5) {
      field = { number: BigInt(view.getUint32(at, true)), bytes: take(4) };
    } else if ((tag & 7) === 2) field = { number: 0n, bytes: take(Number(varint())) };
    else throw new Error(`wire type ${tag & 7}`);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), field]);
  }
  return fields;
}

const text = (field: Field | undefined): string => new TextDecoder().decode(field?.bytes ?? new Uint8Array());
const hex = (field: Field | undefined): string => Buffer.from(field?.bytes ?? []).toString('hex');

function readValue(bytes: Uint8Array): unknown {
  const [[number, [field]] = [0, []]] = [...readMessage(bytes)] as [number, Field[]][];
  if (field === undefined) return undefined;
  if (number === 1) return text(field);
  if (number === 2) return field.number === 1n;
  if (number === 3) return Number(BigInt.asIntN(64, field.number));
  if (number === 4) return new DataView(field.bytes.buffer, field.bytes.byteOffset, 8).getFloat64(0, true);
  if (number === 5) return (readMessage(field.bytes).get(1) ?? []).map((each) => readValue(each.bytes));
  throw new Error(`a value of field ${number}`);
}

const readAttributes = (fields: readonly Field[] = []): Record<string, unknown> =>
  Object.fromEntries(
    fields.map(({ bytes }) => {
      const pair = readMessage(bytes);
      return [text(pair.get(1)?.[0]), readValue(pair.get(2)?.[0]?.bytes ?? new Uint8Array())];
    }),
  );

function readProtobuf(body: Uint8Array): ReceivedSpan[] {
  const inner = (message: Map<number, Field[]>, number: number) =>
    (message.get(number) ?? []).map(({ bytes }) => readMessage(bytes));
  return inner(readMessage(body), 1).flatMap((ofResource) => {
    const resource = readAttributes(inner(ofResource, 1)[0]?.get(1));
    return inner(ofResource, 2).flatMap((ofScope) =>
      inner(ofScope, 2).map((span) => ({
        traceId: hex(span.get(1)?.[0]),
        spanId: hex(span.get(2)?.[0]),
        state: text(span.get(3)?.[0]),
        parentSpanId: hex(span.get(4)?.[0]),
        name: text(span.get(5)?.[0]),
        kind: Number(span.get(6)?.[0]?.number ?? 0n),
        startNs: span.get(7)?.[0]?.number ?? 0n,
        endNs: span.get(8)?.[0]?.number ?? 0n,
        attributes: readAttributes(span.get(9)),
        links: inner(span, 13).map((link) => ({
          traceId: hex(link.get(1)?.[0]),
          spanId: hex(link.get(2)?.[0]),
        })),
        status: Number(inner(span, 15)[0]?.get(3)?.[0]?.number ?? 0n),
        resource,
      })),
    );
  });
}
