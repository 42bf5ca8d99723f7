// Posts batches of spans to the collector, as OTLP over HTTP says, by the runtime's own client. The SDK's exporters send by `node:http`,
// which costs more than the rest of a span.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { toError } from '../../core/errors.ts';
import { sleep } from '../../core/wait.ts';
import { renderSpans } from './json.ts';
import type { TracingSettings } from './settings.ts';
import type { RecordedSpan } from './span.ts';

/** Codes of `ExportResult`, a type of a package that is not ours to name. */
export const [SUCCESS, FAILED] = [0, 1];

/** Requests at once, of which all but one have outlived the time-out of the queue. */
const AT_ONCE_MAX = 2;
/** The statuses after which the protocol has a client try again. */
const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const [PAUSE_MS, PAUSE_GROWTH, PAUSE_MS_MAX] = [1000, 1.5, 5000];

const compress = promisify(gzip);

type Endpoint = Pick<TracingSettings, 'url' | 'headers' | 'protocol' | 'compression' | 'timeoutMs'>;

export function createExporter(endpoint: Endpoint): SpanExporter {
  let running = 0;
  const send = async (spans: ReadableSpan[]): Promise<void> => {
    if (running >= AT_ONCE_MAX) throw new Error('earlier requests to the collector are not answered yet');
    running += 1;
    try {
      await post(endpoint, spans);
    } finally {
      running -= 1;
    }
  };
  return {
    export(spans, done) {
      send(spans).then(
        () => done({ code: SUCCESS }),
        (error: unknown) => done({ code: FAILED, error: toError(error) }),
      );
    },
    shutdown: async () => undefined,
  };
}

/** Throws when the collector has not taken them within the time-out, in which it is asked again. */
async function post(
  { url, headers, protocol, compression, timeoutMs }: Endpoint,
  spans: ReadableSpan[],
): Promise<void> {
  const isJson = protocol === 'http/json';
  const encoded = isJson
    ? renderSpans(spans as [RecordedSpan, ...RecordedSpan[]])
    : ProtobufTraceSerializer.serializeRequest(spans);
  if (encoded === undefined) throw new Error('the spans cannot be encoded');
  const isCompressed = compression === 'gzip';
  const body = isCompressed ? await compress(encoded) : encoded;
  const request = {
    method: 'POST',
    body: body as Uint8Array<ArrayBuffer> | string,
    headers: {
      ...headers,
      'content-type': isJson ? 'application/json' : 'application/x-protobuf',
      ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
    },
  };
  const untilMs = performance.now() + timeoutMs;
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * PAUSE_GROWTH)) {
    const leftMs = untilMs - performance.now();
    const { failure, retryAfterMs } = await ask(url, request, leftMs);
    if (failure === undefined) return;
    const delayMs = retryAfterMs ?? pauseMs * (0.8 + Math.random() * 0.4);
    if (retryAfterMs === null || performance.now() + delayMs >= untilMs) throw failure;
    await sleep(delayMs);
  }
}

/** `retryAfterMs`: null where it makes no sense to ask again, undefined where the collector does not say when. */
type Asked = { failure?: Error; retryAfterMs?: number | null | undefined };

async function ask(url: string, request: RequestInit, timeoutMs: number): Promise<Asked> {
  let response: Response;
  try {
    response = await fetch(url, {
      ...request,
      signal: AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs))),
    });
    // Read, so that the connection can serve again; what it says is of no use.
    await response.arrayBuffer();
  } catch (error) {
    return { failure: toError(error) };
  }
  if (response.ok) return {};
  const failure = new Error(`the collector answered ${response.status}`);
  if (!RETRIED.has(response.status)) return { failure, retryAfterMs: null };
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return { failure, retryAfterMs: seconds >= 0 ? seconds * 1000 : undefined };
}
