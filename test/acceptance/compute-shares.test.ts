// Clients without a key share the threads of /compute by their addresses.

import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const { url } = await shared(
  startService({
    environment: { COMPUTE_THREADS: '1', COMPUTE_QUEUE_MAX: '6', TRUSTED_PROXIES: '127.0.0.1' },
  }),
);

const load = async (): Promise<{ running: number; waiting: number }> => {
  const { services } = (await (await fetch(`${url}/readyz`)).json()) as {
    services: { compute: { running: number; waiting: number } };
  };
  return services.compute;
};
const untilWaiting = (waiting: number): Promise<unknown> =>
  eventually(`${waiting} waiting`, async () => {
    const now = await load();
    return now.running === 1 && now.waiting === waiting;
  });

/** Asks from an address, and notes when the answer has come. */
function asking() {
  const ended: string[] = [];
  const left = new AbortController();
  const ask = async (name: string, address: string, n: number): Promise<number> => {
    const headers = { 'x-forwarded-for': address };
    const answer = await fetch(`${url}/compute?n=${n}`, { headers, signal: left.signal });
    await answer.text();
    ended.push(name);
    return answer.status;
  };
  return { ended, ask, leave: () => left.abort() };
}

test('nobody waits behind all that another address has sent', async () => {
  const { ended, ask } = asking();
  const answers = [ask('many', '192.0.2.1', 43)];
  await untilWaiting(0);
  for (let waiting = 1; waiting <= 3; waiting++) {
    answers.push(ask('many', '192.0.2.1', 42));
    await untilWaiting(waiting);
  }
  answers.push(ask('one', '2001:db8::1', 41));
  await untilWaiting(4);
  expect(await Promise.all(answers)).toEqual(answers.map(() => 200));
  expect(ended).toEqual(['many', 'one', 'many', 'many', 'many']);
});

test('what an address sends beyond its queue is refused, and another one waits', async () => {
  const { ask, leave } = asking();
  const first = ask('many', '192.0.2.1', 50).catch(() => 0);
  await untilWaiting(0);
  const many = Array.from({ length: 6 }, () => ask('many', '192.0.2.1', 50).catch(() => 0));
  await untilWaiting(6);
  const one = ask('one', '192.0.2.2', 50).catch(() => 0);
  await untilWaiting(7);
  expect(await ask('many', '192.0.2.1', 50)).toBe(503);
  leave();
  expect(await Promise.all([first, one, ...many])).toEqual([0, 0, ...many.map(() => 0)]);
});
