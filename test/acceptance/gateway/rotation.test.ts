// What a key has used stays used when the key is rotated.

import { expect, test } from 'bun:test';
import { pricedModels, startGateway } from '../../support/gateway.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { createClient } from './client.ts';

const gateway = await shared(startGateway(pricedModels));
const client = createClient(gateway);

type Key = { id: string; key: string; limits?: object };

async function rotate({ id }: Key, body: object = {}): Promise<Key> {
  const answer = await fetch(`${gateway.url}/admin/api/workspaces/${WORKSPACE}/keys/${id}/rotate`, {
    method: 'POST',
    headers: { APIKeyHeader: BOOTSTRAP_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(201);
  return await answer.json();
}

async function statusOf(key: string): Promise<number> {
  const answer = await client.ask('ok', { key });
  await answer.text();
  return answer.status;
}

test.each([{ budget_per_month: 0.000001 }, { requests_per_minute: 1 }, { tokens_per_minute: 1 }])(
  'a rotated key has spent what the old one has: %j',
  async (limits) => {
    const first = await client.newKey(limits);
    expect([await statusOf(first.key), await statusOf(first.key)]).toEqual([200, 429]);
    const second = await rotate(first, { grace_seconds: 60 });
    expect(second.limits).toEqual(limits);
    expect([await statusOf(second.key), await statusOf(first.key)]).toEqual([429, 429]);
    const third = await rotate(second);
    expect(await statusOf(third.key)).toBe(429);
  },
);

test('what a rotated key uses counts for the old one, too, while both are valid', async () => {
  const first = await client.newKey({ requests_per_minute: 1 });
  const second = await rotate(first, { grace_seconds: 60 });
  expect([await statusOf(second.key), await statusOf(first.key)]).toEqual([200, 429]);
});
