// The request that an upstream is sent: its URL, its headers and its body; and the headers of its answer that pass. The
// operator decides whose account at an upstream is used: the organisation and the project pass, in either direction,
// only where the models file has `pass_organization`.

import { isObject, type JsonObject } from '../core/json.ts';
import type { TraceHeaders } from '../core/trace-context.ts';
import { type Span, traceHeaders } from '../core/tracing.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Endpoint, Translation } from './adapters/adapter.ts';
import { isText, UntranslatableRequest } from './adapters/adapter.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import type { Call } from './model-call.ts';
import type { Target, Upstream } from './targets.ts';

/**
 * The body for a target: the caller's own members with the target's model name, and a request for usage if a stream
 * would not contain it; translated if the upstream has another protocol. Throws 400 for a request that this protocol
 * cannot express.
 */
export function bodyFor(
  { model, upstream }: Target,
  { request, endpoint, includeUsage }: Pick<Call, 'request' | 'endpoint' | 'includeUsage'>,
): string {
  const { body } = request;
  const translation = upstream?.adapter.translation;
  if (translation !== undefined) return translate(body, translation, model);
  const asksForUsage =
    request.stream && isText(endpoint) && !includeUsage && upstream?.spec.streamUsage === true;
  if (!asksForUsage) return JSON.stringify({ ...body, model });
  const options = isObject(body['stream_options']) ? body['stream_options'] : {};
  return JSON.stringify({ ...body, model, stream_options: { ...options, include_usage: true } });
}

function translate(body: JsonObject, translation: Translation, model: string): string {
  try {
    return JSON.stringify(translation.request(body, model));
  } catch (error) {
    if (!(error instanceof UntranslatableRequest)) throw error;
    throw new OpenAiRefusal('malformed', error.message, { param: error.param });
  }
}

/** The headers are made once, because most requests have no others. */
type Address = { url: string; headers: Headers };

/** By the specification, so that a reload begins anew. */
const addresses = new WeakMap<UpstreamSpec, Map<string, Address>>();

/** The URL and headers of a model, made once, since neither changes. */
export function addressOf({ spec, adapter }: Upstream, endpoint: Endpoint, model: string): Address {
  const known = addresses.get(spec) ?? new Map<string, Address>();
  addresses.set(spec, known);
  const key = `${endpoint} ${model}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const { url, headers: own } = adapter.target({ ...spec, endpoint, model });
  const headers = new Headers({
    ...own,
    ...spec.headers,
    'content-type': 'application/json',
    'accept-encoding': 'identity',
  });
  const address = { url, headers };
  known.set(key, address);
  return address;
}

type UpstreamRequest = {
  address: Address;
  upstream: Upstream;
  call: Pick<Call, 'headers' | 'trace' | 'caller'>;
  body: string;
  /** Of the attempt; the upstream is told of its trace. */
  span: Span | undefined;
};

export function sendRequest(
  { address: { url, headers }, upstream, call, body, span }: UpstreamRequest,
  signal: AbortSignal,
): Promise<Response> {
  const passed = headersFor(upstream.spec, call, body);
  const trace = traceHeaders(span ?? call.trace);
  return fetch(url, {
    method: 'POST',
    body,
    headers: passed === undefined && trace === undefined ? headers : withFurther(headers, passed, trace),
    redirect: 'manual',
    signal,
  });
}

/** Those of the caller replace none of the upstream's own. */
function withFurther(
  own: Headers,
  passed: Record<string, string> | undefined,
  trace: TraceHeaders | undefined,
): Headers {
  const headers = new Headers(own);
  if (passed !== undefined)
    for (const [name, value] of Object.entries(passed)) if (!own.has(name)) headers.set(name, value);
  if (trace !== undefined) headers.set('traceparent', trace.traceparent);
  if (trace?.tracestate !== undefined) headers.set('tracestate', trace.tracestate);
  return headers;
}

/** Bun's error codes for connections that were never made. */
const UNSENT: ReadonlySet<unknown> = new Set([
  'ConnectionRefused',
  'FailedToOpenSocket',
  'ENOTFOUND',
  'ECONNREFUSED',
  'DNSException',
  'ENETUNREACH',
  'EHOSTUNREACH',
]);

/** Whether the upstream cannot have seen the request. */
export const isUnsent = (error: unknown): boolean => UNSENT.has((error as { code?: unknown } | null)?.code);

const ORGANIZATION = ['openai-organization', 'openai-project'];

const TO_UPSTREAMS = [...ORGANIZATION, 'openai-version', 'openai-beta', 'idempotency-key'];

/** The values of `openai-beta` that pass, unless the models file names others: `betas` of an upstream. */
const BETAS = ['assistants=v2'];

const API_VERSION = /^\d{4}-\d{2}-\d{2}$/;

const TO_CALLERS = [
  'x-request-id',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
  'openai-version',
  'openai-model',
  ...['limit', 'remaining', 'reset'].flatMap((kind) => [
    `x-ratelimit-${kind}-requests`,
    `x-ratelimit-${kind}-tokens`,
  ]),
];

const TO_CALLERS_WITH_ORGANIZATION = [...TO_CALLERS, ...ORGANIZATION];

/**
 * A caller's headers that an upstream may see; undefined for none, as in most requests. `requestId`: that of the access
 * log, which is the caller's own where it is well-formed.
 */
export function readCallersHeaders(headers: Headers, requestId: string): Record<string, string> | undefined {
  let found: Record<string, string> | undefined;
  for (const name of TO_UPSTREAMS) {
    const value = headers.get(name);
    if (value === null) continue;
    found ??= {};
    found[name] = value;
  }
  return headers.get('x-request-id') === requestId ? { ...found, 'x-request-id': requestId } : found;
}

/** The headers of the caller that this upstream receives: none lets one workspace be taken for another. */
function headersFor(
  spec: UpstreamSpec,
  { headers, caller }: Pick<Call, 'headers' | 'caller'>,
  body: string,
): Record<string, string> | undefined {
  if (headers === undefined) return undefined;
  const toSent = (name: string, value: string): string => {
    if (name === 'idempotency-key') return toSharedIdempotencyKey(value, caller, body);
    if (name === 'openai-beta') return keepBetas(value, spec.betas ?? BETAS);
    if (name === 'openai-version') return API_VERSION.test(value) ? value : '';
    return spec.passOrganization || !ORGANIZATION.includes(name) ? value : '';
  };
  const sent = Object.entries(headers).map(([name, value]) => [name, toSent(name, value)]);
  return Object.fromEntries(sent.filter(([, value]) => value !== ''));
}

/**
 * An upstream answers a repeated key from memory. So the key is bound to the API key that sent it, and to the body:
 * the parts of a batch, and other targets, are other requests.
 */
function toSharedIdempotencyKey(value: string, { workspaceId, keyId }: Call['caller'], body: string): string {
  const hash = new Bun.CryptoHasher('sha256').update(JSON.stringify([workspaceId, keyId, value]));
  return `atrium-${hash.update(body).digest('base64url')}`;
}

const keepBetas = (value: string, allowed: readonly string[]): string =>
  value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => allowed.includes(each))
    .join(', ');

/** The upstream's headers that callers may see. */
export function passedHeaders(headers: Headers, { passOrganization }: UpstreamSpec): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of passOrganization ? TO_CALLERS_WITH_ORGANIZATION : TO_CALLERS) {
    const value = headers.get(name);
    if (value !== null) passed[name] = value;
  }
  return passed;
}
