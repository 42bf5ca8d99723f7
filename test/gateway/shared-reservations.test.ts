// What requests that run have reserved, each process tells the others, for as long as it lives.

import { expect, test } from 'bun:test';
import { NOTHING_USED, type Reservation } from '../../src/gateway/allowances.ts';
import { ALLOWANCE_LEASE_MS } from '../../src/gateway/limits.ts';
import { OpenAiRefusal } from '../../src/http/openai-error.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import { read, refusalOf, twoProcesses } from './limited-process.ts';

const database = await shared(testDatabase());

const two = () => twoProcesses(database.sql);

test('processes know of each other’s reservations, and what was given back is free for both', async () => {
  const { keyId, all, syncAll } = two();
  const [one, other] = all;
  const limits = { tokens_per_minute: 1000, budget_per_month: 10 };
  await other.ask(limits, keyId);
  const running = await one.run(limits, { tokens: 1000, cost: 4 }, keyId);
  await one.sync();
  const admitted = await other.run(limits, { tokens: 10, cost: 1 }, keyId);
  await syncAll();
  const refusal = refusalOf(await other.begin(limits, { tokens: 10, cost: 1 }, keyId));
  expect(refusal.details).toMatchObject({
    type: 'tokens',
    code: 'rate_limit_exceeded',
    headers: { 'x-ratelimit-remaining-tokens': '0' },
  });
  running.settle(NOTHING_USED);
  await one.sync();
  // The other process asks for the state of the reservation, although it has had no request.
  await other.sync();
  expect(await other.begin(limits, { tokens: 10, cost: 1 }, keyId)).not.toBeInstanceOf(OpenAiRefusal);
  admitted.settle(NOTHING_USED);
});

test('a process that is asked for the first time knows what the others have reserved', async () => {
  const { keyId, all } = two();
  const [one, other] = all;
  const limits = { budget_per_month: 10 };
  await one.run(limits, { tokens: 0, cost: 10 }, keyId);
  await one.sync();
  const refusal = refusalOf(await other.begin(limits, { tokens: 0, cost: 1 }, keyId));
  expect(refusal.details.code).toBe('insufficient_quota');
  // The budget is not used up: it may be given back.
  expect(refusal.details.headers).toBeUndefined();
  expect(refusal.retryAfterSeconds).toBe(1);
});

test('a request that runs for long stays reserved for the others', async () => {
  const { clock, keyId, all, syncAll } = two();
  const [one, other] = all;
  const limits = { budget_per_month: 10 };
  const running = await one.run(limits, { tokens: 0, cost: 10 }, keyId);
  for (let seconds = 0; seconds < 60; seconds++) {
    await syncAll();
    expect(await other.ask(limits, keyId)).toBeInstanceOf(OpenAiRefusal);
    clock.ms += 1000;
  }
  running.settle(NOTHING_USED);
  await syncAll();
  await syncAll();
  expect(await other.ask(limits, keyId)).not.toBeInstanceOf(OpenAiRefusal);
});

test('what a process that died had reserved is void after the lease, and nothing of it is counted', async () => {
  const { clock, keyId, all, store } = two();
  const [died, other] = all;
  const limits = { tokens_per_minute: 1000, budget_per_month: 10 };
  await other.ask(limits, keyId);
  await died.run(limits, { tokens: 1000, cost: 10 }, keyId);
  await died.sync();
  const running = await other.run(limits, { tokens: 1, cost: 0.1 }, keyId);
  await other.sync();
  expect(await other.ask(limits, keyId)).toBeInstanceOf(OpenAiRefusal);
  clock.ms += ALLOWANCE_LEASE_MS;
  await other.sync();
  expect(await other.ask(limits, keyId)).not.toBeInstanceOf(OpenAiRefusal);
  running.settle(NOTHING_USED);
  await other.sync();
  expect(await read(store, keyId)).toMatchObject({ spent: 0, elsewhere: { tokensMs: 0, cost: 0 } });
  await store.sweep();
  const [row] = await database.sql<{ left: number }[]>`
    SELECT count(*)::int AS left FROM model_reservations WHERE key_id = ${keyId}`;
  expect(row?.left).toBe(0);
});

test('processes overdraw by no more than what arrives between two tellings, however long requests run', async () => {
  const { clock, keyId, all, syncAll } = two();
  const limits = { budget_per_month: 100 };
  const running: Reservation[] = [];
  // Each process is asked ten times a second for a minute; nothing ends meanwhile.
  for (let step = 0; step < 600; step++) {
    for (const each of all) {
      const begun = await each.begin(limits, { tokens: 0, cost: 1 }, keyId);
      if (!(begun instanceof OpenAiRefusal)) running.push(begun);
    }
    if (step % 2 === 1) await syncAll();
    clock.ms += 100;
  }
  // Between two tellings, each process is asked twice.
  expect(running.length).toBeGreaterThanOrEqual(100);
  expect(running.length).toBeLessThanOrEqual(104);
  for (const each of running) each.settle({ tokens: 0, completionTokens: 0, cost: 1 });
  await syncAll();
  for (const each of all) expect(await each.ask(limits, keyId)).toBeInstanceOf(OpenAiRefusal);
});
