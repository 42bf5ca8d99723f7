// Many requests, and many streams that nobody hears to their end, leave nothing behind.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { eventually } from '../../support/child.ts';
import { startGateway } from '../../support/gateway.ts';
import type { MockUpstream } from '../../support/mock-upstream.ts';
import { type Client, createClient } from './client.ts';

/** Of a round. */
const REQUESTS = 10_000;
const STREAMS = 200;
/** What every round would leave behind of a leak of 2 kB a request. */
const LEAK_MB = 20;
/** Until one of them leaves less behind than that; the garbage collector of a busy machine is rounds late. */
const MOST_ROUNDS = 8;
/** Of each kind. */
const AT_ONCE = 50;

async function askMany(client: Client, times: number, key: string): Promise<void> {
  let left = times;
  const ask = async (): Promise<void> => {
    while (left-- > 0) {
      const response = await client.ask('fast', { key, body: { stream: left % 10 === 0 } });
      const text = await response.text();
      // A starved machine may refuse one; it was not asked then, and is asked again.
      if (response.status === 503) left++;
      else if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, ask));
}

/** Half of them leave before the first byte, half in the middle. */
async function abandonMany(
  { client, mock }: { client: Client; mock: MockUpstream },
  times: number,
): Promise<void> {
  const abandon = async (model: string, begun: (response: Promise<Response>) => Promise<unknown>) => {
    const leaving = new AbortController();
    const coming = client.ask(model, { body: { stream: true }, signal: leaving.signal });
    await begun(coming);
    leaving.abort();
    await coming.then((response) => response.text()).catch(() => undefined);
  };
  const oneRead = async (coming: Promise<Response>): Promise<void> => {
    const response = await coming;
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    await response.body?.getReader().read();
  };
  for (let left = times; left > 0; left -= 2 * AT_ONCE) {
    const allAsked = eventually(
      'all to be asked',
      async () => (await mock.state('hang')).running === AT_ONCE,
    );
    const silent = Array.from({ length: AT_ONCE }, () => abandon('silent', () => allAsked));
    const trickling = Array.from({ length: AT_ONCE }, () => abandon('trickle', oneRead));
    await Promise.all([...silent, ...trickling]);
    // Those of the next lot are counted.
    await eventually('the upstream to rest', async () => (await mock.totals()).running === 0);
  }
}

const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

test(`${REQUESTS} requests and ${STREAMS} abandoned streams, again and again`, async () => {
  await using gateway = await startGateway(
    (mockUrl) => ({
      upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
      models: {
        fast: { targets: [{ upstream: 'mock', model: 'fast' }] },
        silent: { targets: [{ upstream: 'mock', model: 'hang' }] },
        trickle: { targets: [{ upstream: 'mock', model: 'trickle+ms=50+words=1000' }] },
      },
    }),
    { LOG_LEVEL: 'warn' },
  );
  const client = createClient(gateway);
  const { id, key } = await client.newKey({ requests_per_minute: 10_000_000 });
  const residentAfter: number[] = [];
  const grows = (): boolean => {
    const [before = 0, after = Number.POSITIVE_INFINITY] = residentAfter.slice(-2);
    return after - before >= LEAK_MB;
  };
  while (residentAfter.length < 2 || (grows() && residentAfter.length < MOST_ROUNDS)) {
    await askMany(client, REQUESTS, key);
    await abandonMany({ client, mock: gateway.mock }, STREAMS);
    residentAfter.push(residentMb(gateway.service.child.pid));
  }
  expect({ residentAfter, grows: grows() }).toEqual({ residentAfter, grows: false });
  const rounds = residentAfter.length;

  expect((await gateway.mock.totals()).cancelled).toBe(rounds * STREAMS);
  await eventually('the gateway to rest', async () => {
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    const running = metrics.match(/^atrium_model_requests_running\{.*$/gm) ?? [];
    expect(running).toHaveLength(2);
    return running.every((line) => line.endsWith(' 0'));
  });

  const usage = await eventually('all accounts', async () => {
    const { items, total } = await client.usage({ group_by: 'key' });
    return total.requests >= rounds * (REQUESTS + STREAMS) && items;
  });
  expect(usage.find(({ group }) => group === id)?.requests).toBe(rounds * REQUESTS);
  const outcomes = await client.usage({ group_by: 'outcome' });
  expect(outcomes.items.map(({ group, requests }) => [group, requests])).toEqual([
    ['cancelled', rounds * STREAMS],
    ['ok', rounds * REQUESTS],
  ]);
});
