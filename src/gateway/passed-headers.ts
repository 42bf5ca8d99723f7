// Headers that pass between callers and upstreams. Whose account at an upstream is used is the operator's to say: so the
// organisation and the project pass only where the models file has `pass_organization`, in either direction.

import type { UpstreamSpec } from './catalogue/model.ts';

const ORGANIZATION = ['openai-organization', 'openai-project'];

const TO_UPSTREAMS = [...ORGANIZATION, 'openai-version', 'openai-beta', 'x-request-id', 'idempotency-key'];

const TO_CALLERS = [
  ...['x-request-id', 'retry-after', 'retry-after-ms'],
  ...['openai-processing-ms', 'openai-version', 'openai-model'],
  ...['x-ratelimit-limit-requests', 'x-ratelimit-limit-tokens'],
  ...['x-ratelimit-remaining-requests', 'x-ratelimit-remaining-tokens'],
  ...['x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens'],
];

const TO_CALLERS_WITH_ORGANIZATION = [...TO_CALLERS, ...ORGANIZATION];

/** A caller's headers that an upstream may see; undefined for none, as in most requests. */
export function readCallersHeaders(headers: Headers): Record<string, string> | undefined {
  let found: Record<string, string> | undefined;
  for (const name of TO_UPSTREAMS) {
    const value = headers.get(name);
    if (value === null) continue;
    found ??= {};
    found[name] = value;
  }
  return found;
}

/** Those of them that this upstream is sent. */
export function headersFor(
  { passOrganization }: UpstreamSpec,
  headers: Record<string, string> | undefined,
): Record<string, string> | undefined {
  if (passOrganization || headers === undefined) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ORGANIZATION.includes(name)));
}

/** The upstream's headers that callers may see. */
export function passedHeaders(headers: Headers, { passOrganization }: UpstreamSpec): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of passOrganization ? TO_CALLERS_WITH_ORGANIZATION : TO_CALLERS) {
    const value = headers.get(name);
    if (value !== null) passed[name] = value;
  }
  return passed;
}
