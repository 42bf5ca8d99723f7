// The compute probe: right numbers, exact refusals, and nobody else notices.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { machineNow } from '../support/machine-time.ts';
import { shared } from '../support/shared.ts';
import { bodyOf, expectRefusal } from './support/caller.ts';
import { type Entry, notInteger, tooLarge, tooSmall } from './support/entries.ts';
import { startSetting } from './support/setting.ts';

type Computed = { n: number; result: string; duration_ms: number };

const THREADS = 2;
/** Longer than any test waits for. */
const ENDLESS = 50;

const setting = await shared(startSetting({ COMPUTE_THREADS: String(THREADS), COMPUTE_QUEUE_MAX: '2' }));

const compute = (search: string) => setting.call('GET', `/compute${search}`);

type Load = { threads: number; running: number; waiting: number };
async function load(url = setting.url): Promise<Load> {
  const answer = await fetch(`${url}/readyz`);
  return ((await answer.json()) as { services: { compute: Load } }).services.compute;
}
const loadBecomes = (running: number, waiting: number): Promise<unknown> =>
  eventually(`${running} running and ${waiting} waiting`, async () => {
    const now = await load();
    return now.running === running && now.waiting === waiting;
  });

/** Asks for what takes most of a minute; `leave` hangs up. */
function askEndlessly(): { answer: Promise<Response | undefined>; leave(): void } {
  const leaving = new AbortController();
  const answer = fetch(`${setting.url}/compute?n=${ENDLESS}`, { signal: leaving.signal });
  return { answer: answer.catch(() => undefined), leave: () => leaving.abort() };
}

/** Runs `work` while every thread is busy and so many more requests wait. */
async function whileBusy(waiting: number, work: () => Promise<void>): Promise<void> {
  const asked = Array.from({ length: THREADS + waiting }, askEndlessly);
  try {
    await loadBecomes(THREADS, waiting);
    await work();
  } finally {
    for (const { leave } of asked) leave();
    await Promise.all(asked.map(({ answer }) => answer));
    await loadBecomes(0, 0);
  }
}

describe('/compute', () => {
  test('computes the 42nd Fibonacci number when nothing is asked for', async () => {
    const body = bodyOf<Computed>(await compute(''), 200);
    expect(body).toEqual({ n: 42, result: '267914296', duration_ms: expect.any(Number) });
    expect(body.duration_ms).toBeGreaterThan(1);
  });

  test('needs no key, and gives the right numbers', async () => {
    let [current, next] = [0n, 1n];
    for (let n = 0; n <= 35; n++) {
      expect(bodyOf<Computed>(await compute(`?n=${n}`), 200)).toMatchObject({
        n,
        result: current.toString(),
      });
      [current, next] = [next, current + next];
    }
  });

  const AT = ['query', 'n'];
  const notNumber = (input: string): Entry => notInteger(AT, input);
  test.each<[string, Entry]>([
    ['?n=', notNumber('')],
    ['?n', notNumber('')],
    ['?n=1.5', notNumber('1.5')],
    ['?n=1e3', notNumber('1e3')],
    ['?n=NaN', notNumber('NaN')],
    ['?n=0x10', notNumber('0x10')],
    ['?n=%F0%9F%98%80', notNumber('😀')],
    ['?n=-1', tooSmall(AT, '-1', 0)],
    ['?n=51', tooLarge(AT, '51', 50)],
    ['?n=99999999999999999999', tooLarge(AT, '99999999999999999999', 50)],
    ['?n=2&n=x', notNumber('x')],
    ['?n=2&n=51', tooLarge(AT, '51', 50)],
  ])('%s is refused exactly', async (search, entry) => {
    expect(bodyOf<{ detail: Entry[] }>(await compute(search), 422).detail).toEqual([entry]);
  });

  test('takes the last of repeated ones, as FastAPI does', async () => {
    expect(bodyOf<Computed>(await compute('?n=x&n=3'), 200)).toMatchObject({ n: 3, result: '2' });
  });

  test('holds up nobody: not a probe, not a list, not another short one', async () => {
    await whileBusy(0, async () => {
      const times: number[] = [];
      for (let round = 0; round < 50; round++) {
        const startedAt = machineNow();
        bodyOf(await setting.call('GET', '/'), 200);
        expect(bodyOf<Computed>(await compute('?n=20'), 200).result).toBe('6765');
        bodyOf(await setting.call('GET', `/v1/${setting.workspace}/trash`, { key: setting.adminKey }), 200);
        times.push(machineNow() - startedAt);
      }
      expect(times.sort((a, b) => a - b)[25]).toBeLessThan(200);
      expect((await load()).running).toBe(THREADS);
    });
  });

  test('with a full queue answers 503 with Retry-After, and short ones as ever', async () => {
    await whileBusy(2, async () => {
      const answer = await compute(`?n=${ENDLESS}`);
      expectRefusal(answer, 503);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(bodyOf<Computed>(await compute('?n=10'), 200).result).toBe('55');
    });
  });

  test('stops at once when its client leaves: another one begins, the processor rests', async () => {
    const processor = async (): Promise<number> => {
      const text = await (await fetch(`${setting.url}/metrics`)).text();
      return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]);
    };
    await whileBusy(0, async () => {});
    const before = { at: performance.now(), seconds: await processor() };
    await Bun.sleep(1000);
    const busySeconds = (await processor()) - before.seconds;
    expect(busySeconds / ((performance.now() - before.at) / 1000)).toBeLessThan(0.5);
    const text = await (await fetch(`${setting.url}/metrics`)).text();
    const cancelled =
      /^atrium_compute_work_total\{lane="long",kind="fibonacci",ending="cancelled"\} (\d+)$/m.exec(text)?.[1];
    expect(Number(cancelled)).toBeGreaterThanOrEqual(THREADS);
  });
});

describe('/', () => {
  test('says what this is', async () => {
    const body = bodyOf<Record<string, string>>(await setting.call('GET', '/'), 200);
    expect(body).toEqual({
      name: 'Atrium',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      status: 'ok',
      docs: '/docs',
    });
    expect((await fetch(setting.url + body['docs'])).status).toBe(200);
  });
});

describe('told to end', () => {
  /**
   * Ends a service that computes what is short and what is endless; returns the status of what is short, or that it was answered
   * before both were seen to run.
   */
  async function endAmidWork(shortN: number, shutdownMs: number): Promise<number | 'too short'> {
    const own = await startSetting({ SHUTDOWN_TIMEOUT_MS: `${shutdownMs}`, COMPUTE_THREADS: '2' });
    await using service = own.service;
    const ask = (n: number) => fetch(`${own.url}/compute?n=${n}`);
    let isAnswered = false;
    const short = ask(shortN).finally(() => {
      isAnswered = true;
    });
    const long = ask(ENDLESS).catch(() => undefined);
    await eventually('both to run', async () => isAnswered || (await load(own.url)).running === 2);
    if (isAnswered) {
      service.child.kill('SIGKILL');
      await long;
      return 'too short';
    }
    service.child.kill('SIGTERM');
    const answer = await long;
    expect(answer?.status).toBe(503);
    expect(answer?.headers.get('retry-after')).not.toBeNull();
    expect(await answer?.json()).toEqual({ detail: 'The service is shutting down' });
    const { status } = await short;
    expect(await service.child.exited).toBe(0);
    return status;
  }

  test('the service finishes what fits into the time, and answers 503 to what does not', async () => {
    // A busy machine gives threads of low priority next to nothing: there, what is short needs more time to fit.
    let shortN = 41;
    for (const shutdownMs of [3000, 12_000, 48_000]) {
      const status = await endAmidWork(shortN, shutdownMs);
      if (status === 200) return;
      // Four times as long: a busy machine may look too late.
      if (status === 'too short') shortN += 3;
      else expect(status).toBe(503);
    }
    throw new Error('what is short was never finished');
  });
});
