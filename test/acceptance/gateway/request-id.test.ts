// The id that a caller is told is the one by which operators find the request.

import { expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { shared } from '../../support/shared.ts';
import { startGatewaySetting } from './setting.ts';

const setting = await shared(startGatewaySetting());

test("an upstream's request id is told, and stands in the access log", async () => {
  const body = '{"model":"right","messages":[{"role":"user","content":"hi"}]}';
  const { headers } = await setting.post('/v1/chat/completions', body);
  const told = headers.get('x-request-id') ?? '';
  expect(told).not.toBe('');
  const { child } = setting.gateway.service;
  await eventually('the line', () => child.output().includes(`"request_id":"${told}"`));
});
