// How long an upstream that asks for patience is left alone: as long as it says, within bounds.

import { describe, expect, test } from 'bun:test';
import type { AttemptFailure } from '../../src/gateway/answer.ts';
import { AttemptLog } from '../../src/gateway/attempt-log.ts';
import { Attempts } from '../../src/gateway/attempts.ts';
import type { UpstreamSpec } from '../../src/gateway/catalogue/model.ts';
import { GatewayRequest } from '../../src/gateway/request.ts';
import { type Model, Target } from '../../src/gateway/targets.ts';
import { refusedFailure } from '../../src/gateway/upstream-error.ts';
import { silentLog } from '../support/database.ts';

const MINUTE_MS = 60_000;
const SPEC = {
  apiKey: undefined,
  baseUrl: 'http://upstream.test/v1',
  headers: {},
} as unknown as UpstreamSpec;

/** What becomes of a refusal with these headers. */
function refusalOf(headers: Record<string, string>, status = 429): AttemptFailure {
  const body = Buffer.from('{"error":{"message":"later"}}');
  return refusedFailure(new Response(null, { status, headers }), body, { spec: SPEC });
}

describe('an upstream’s time to wait', () => {
  test.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after-ms': '1500' }, 1500],
    [{ 'retry-after-ms': '1500', 'retry-after': '7' }, 1500],
    [{ 'retry-after-ms': 'soon', 'retry-after': '7' }, 7000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('%j is %p ms', (headers, expected) => {
    expect(refusalOf(headers).retryAfterMs).toBe(expected as number);
    expect(refusalOf(headers, 503).retryAfterMs).toBe(expected as number);
  });

  test('reaches the caller as the upstream has said it', () => {
    const { answer } = refusalOf({ 'retry-after-ms': '1500', 'retry-after': '2' });
    expect(answer?.headers).toMatchObject({ 'retry-after-ms': '1500', 'retry-after': '2' });
  });
});

/** Asks a target that refuses so once; for how long it is left alone then. The target is a fake without an upstream. */
async function restMsAfter(headers: Record<string, string>): Promise<number> {
  const target = new Target({ model: 'local-multilingual-e1', upstream: undefined }, () => 0);
  const model: Model = { id: 'm', targets: [{ target, weight: 1 }], fallbacks: [] } as never;
  Object.assign(model, { candidates: [model] });
  const attempts = new Attempts({
    embed: () => Promise.reject(refusalOf(headers)),
    log: new AttemptLog(silentLog),
    connectsDirectly: true,
    keepAliveMs: 15_000,
  });
  const request = new GatewayRequest({ input: 'a text' });
  const call = { endpoint: 'embeddings', request, signal: new AbortController().signal } as never;
  const before = performance.now();
  const answer = await attempts.run(call, { model, last: undefined });
  expect(answer).toMatchObject({ kind: 'whole', status: 429 });
  return Math.max(0, target.cooldownUntilMs) - before;
}

test('an upstream that asks for an hour is asked again after a minute, one that asks for less after that', async () => {
  const hour = await restMsAfter({ 'retry-after': '3600' });
  expect(hour).toBeGreaterThanOrEqual(MINUTE_MS);
  expect(hour).toBeLessThan(2 * MINUTE_MS);
  const second = await restMsAfter({ 'retry-after-ms': '20000' });
  expect(second).toBeGreaterThanOrEqual(20_000);
  expect(second).toBeLessThan(MINUTE_MS);
  expect(await restMsAfter({})).toBeLessThanOrEqual(0);
});
