// Two services on one database: one that was idle knows what was spent at the other, and one that cannot reach the database
// admits nothing by what it knew.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createClient } from '../acceptance/gateway/client.ts';
import { eventually } from '../support/child.ts';
import { connectTo } from '../support/database.ts';
import { type ModelsFile, type RunningGateway, startGateway } from '../support/gateway.ts';
import { type PostgresUnderTest, startPostgresServer } from '../support/postgres-server.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** With its prompt of three words, an answer has a thousand tokens: so it costs 1. */
const modelsFile = (mockUrl: string): ModelsFile => ({
  upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
  models: {
    thousand: {
      targets: [{ upstream: 'mock', model: 'slow+ms=1+words=997' }],
      price: { input_per_million: 1000, output_per_million: 1000 },
    },
  },
});

let postgres: PostgresUnderTest;
let proxy: TcpProxy;
let busy: RunningGateway;
let idle: RunningGateway;
beforeAll(async () => {
  postgres = await startPostgresServer();
  proxy = await startTcpProxy(postgres.url);
  busy = await startGateway(modelsFile, { DATABASE_URL: proxy.url });
  idle = await startGateway(modelsFile, { DATABASE_URL: postgres.url });
});
afterAll(async () => {
  await idle?.[Symbol.asyncDispose]();
  await busy?.[Symbol.asyncDispose]();
  await proxy?.close();
  await postgres?.stop();
});

const ask = async (gateway: RunningGateway, key: string): Promise<number> => {
  const answer = await createClient(gateway).ask('thousand', { key, body: { max_tokens: 997 } });
  await answer.text();
  return answer.status;
};

/** A starved machine may wait in vain for the database; what it says once it has heard from it counts. */
const insist = (gateway: RunningGateway, key: string): Promise<number> =>
  eventually('an answer by what was spent', async () => {
    const status = await ask(gateway, key);
    return status !== 503 && status;
  });

/** Longer than what is known admits; the service's own clock is not the test's. */
const waitUntilOld = (): Promise<void> => Bun.sleep(1000);

test('a service that was idle answers nobody whose budget was used up at another', async () => {
  const sql = connectTo(postgres.url);
  await using _ = { [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }) };
  const { id, key } = await createClient(busy).newKey({ budget_per_month: 4 });
  const isTold = (wanted: number) =>
    eventually(`${wanted} to be told`, async () => {
      const [row] = await sql<
        { spent: number }[]
      >`SELECT sum(spent) AS spent FROM model_allowances WHERE key_id = ${id}`;
      return row?.spent === wanted;
    });
  expect(await insist(idle, key)).toBe(200);
  await isTold(1);
  await waitUntilOld();
  for (let index = 0; index < 3; index++) expect(await insist(busy, key)).toBe(200);
  await isTold(4);
  await waitUntilOld();
  const statuses = await Promise.all(Array.from({ length: 30 }, () => insist(idle, key)));
  expect(statuses).toEqual(Array<number>(30).fill(429));
});

test('while the database is away a limited key is 503 and no other, and it is answered again afterwards', async () => {
  const limited = (await createClient(busy).newKey({ budget_per_month: 4 })).key;
  const free = (await createClient(busy).newKey({})).key;
  expect(await insist(busy, limited)).toBe(200);
  expect(await insist(busy, free)).toBe(200);
  proxy.cut();
  await waitUntilOld();
  expect(await ask(busy, limited)).toBe(503);
  expect(await ask(busy, free)).toBe(200);
  proxy.heal();
  await eventually('the key to be answered', async () => (await ask(busy, limited)) === 200);
});
