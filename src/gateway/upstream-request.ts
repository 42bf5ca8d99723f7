// The request that an upstream is sent: its URL, its headers and its body; and the headers of its answer that pass. The
// operator decides whose account at an upstream is used: the organisation and the project pass, in either direction,
// only where the models file has `pass_organization`.

import { isObject } from '../core/json.ts';
import { type Span, traceHeaders } from '../core/tracing.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import { UntranslatableRequest } from './adapters/adapter.ts';
import type { UpstreamSpec } from './catalogue/model.ts';
import type { ModelCall } from './model-call.ts';
import { isText } from './request.ts';
import type { Upstream } from './targets.ts';

/**
 * The body for a model of an upstream: the caller's own members with that model's name, and a request for usage if a stream would not
 * contain it; translated if the upstream has another protocol. Throws 400 for a request that this protocol cannot express.
 */
export function bodyFor(
  { adapter: { translation }, spec }: Pick<Upstream, 'adapter' | 'spec'>,
  model: string,
  { request, endpoint }: Pick<ModelCall, 'request' | 'endpoint'>,
): string {
  const { body } = request;
  if (translation !== undefined) {
    try {
      return JSON.stringify(translation.request(body, model));
    } catch (error) {
      if (!(error instanceof UntranslatableRequest)) throw error;
      throw new OpenAiRefusal('malformed', error.message, { param: error.param });
    }
  }
  if (!request.stream || request.includesUsage || !isText(endpoint) || !spec.streamUsage)
    return JSON.stringify({ ...body, model });
  const options = isObject(body['stream_options']) ? body['stream_options'] : {};
  return JSON.stringify({ ...body, model, stream_options: { ...options, include_usage: true } });
}

/** The URL and headers of a model, made once, since most requests have no other headers. */
export function addressOf(
  { spec, adapter, addresses }: Upstream,
  endpoint: ModelCall['endpoint'],
  model: string,
): { url: string; headers: Headers } {
  const key = `${endpoint} ${model}`;
  const known = addresses.get(key);
  if (known !== undefined) return known;
  const { url, headers } = adapter.target({ ...spec, endpoint, model });
  const all = {
    ...headers,
    ...spec.headers,
    'content-type': 'application/json',
    'accept-encoding': 'identity',
  };
  const address = { url, headers: new Headers(all) };
  addresses.set(key, address);
  return address;
}

/** The headers of one call; those of the caller replace none of the upstream's own. */
export function headersOf(
  own: Headers,
  { spec }: Upstream,
  { call, body, span }: { call: ModelCall; body: string; span: Span | undefined },
): Headers {
  const trace = traceHeaders(span ?? call.trace);
  if (call.headers === undefined && trace === undefined) return own;
  const headers = new Headers(own);
  const passed = headersFor(spec, call, body);
  for (const [name, value] of Object.entries(passed)) if (!headers.has(name)) headers.set(name, value);
  for (const [name, value] of Object.entries(trace ?? {})) headers.set(name, value);
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
  { headers = {}, caller }: Pick<ModelCall, 'headers' | 'caller'>,
  body: string,
): Record<string, string> {
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
function toSharedIdempotencyKey(
  value: string,
  { workspaceId, keyId }: ModelCall['caller'],
  body: string,
): string {
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
  const pass = (name: string): void => {
    const value = headers.get(name);
    if (value !== null) passed[name] = value;
  };
  TO_CALLERS.forEach(pass);
  if (passOrganization) ORGANIZATION.forEach(pass);
  return passed;
}
