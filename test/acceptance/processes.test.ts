// PROCESSES > 1: several processes behind one port, over the same data.

import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { eventually, freePort, freeze } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { isService } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { bodyOf, expectStatus } from './support/caller.ts';
import { freshName } from './support/library.ts';
import { createMetrics, eventOf } from './support/metrics.ts';
import { startSetting } from './support/setting.ts';

const BUFFER_BYTES_MAX = 64 * 1024 ** 2;
const hasJournals = process.env['TEST_NATS_URL'] === undefined;

const database = await shared(testDatabase());
const secret = join(freshFolder(), 'database-url');
writeFileSync(secret, database.url);
const setting = await shared(
  // The owner replaces its file by the address for its processes.
  startSetting({
    PROCESSES: '2',
    PORT: String(freePort()),
    DATABASE_URL: '',
    DATABASE_URL_FILE: secret,
    EVENT_BUFFER_BYTES_MAX: String(BUFFER_BYTES_MAX),
  }),
);

/** Pids of the processes that serve: children of the started one that run the same program. */
async function serving(): Promise<number[]> {
  const { pid } = setting.service.child;
  const list = Bun.spawn(['ps', '-o', 'pid=,args=', '--ppid', String(pid)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines = (await new Response(list.stdout).text()).trim().split('\n');
  return lines.filter(isService).map((line) => Number.parseInt(line, 10));
}

/** Sends the request on new connections, so that the kernel deals them out to all processes. */
async function everywhere(path: string, key: string): Promise<number[]> {
  const answers = Array.from({ length: 24 }, () =>
    setting.call('GET', path, { key, headers: { connection: 'close' } }).then(({ status }) => status),
  );
  return [...new Set(await Promise.all(answers))];
}

type Readiness = {
  status: string;
  services: {
    processes: { state: string; serving: number; detail?: string };
    compute: { threads: number };
    usage_events: { buffer_bytes_max: number; synced_before_acknowledged: boolean };
  };
};

/** Of whichever process is asked, within a time in which one that hangs does not answer. */
const readiness = async (): Promise<Readiness> =>
  (await fetch(`${setting.url}/readyz`, {
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(5000),
  }).then((answer) => answer.json())) as Readiness;

const bothAnswer = async (): Promise<boolean> =>
  (await readiness().catch(() => undefined))?.services.processes.state === 'ready';

/** Series of /metrics with their values, of whichever process is asked. */
async function figures(): Promise<Map<string, number>> {
  const answer = await fetch(`${setting.url}/metrics`, { headers: { connection: 'close' } });
  expect(answer.status).toBe(200);
  const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

/** Requests that all processes have answered, ever. */
const sumOf = (series: ReadonlyMap<string, number>): number =>
  [...series]
    .filter(([name]) => name.startsWith('atrium_http_request_duration_seconds_count'))
    .reduce((sum, [, value]) => sum + value, 0);

/**
 * By the clock on the wall, as the caches count, which keep what they hear nothing of for half a minute: the notice of a change
 * reaches the other processes within moments. The rest is for a busy machine.
 */
const SOON_MS_MAX = 20_000;

async function soon(path: string, key: string, status: number): Promise<void> {
  const since = performance.now();
  const isEverywhere = async () => String(await everywhere(path, key)) === String(status);
  await eventually(`${status} from every process`, isEverywhere);
  expect(performance.now() - since).toBeLessThan(SOON_MS_MAX);
}

describe('several processes', () => {
  test('share the port and the data', async () => {
    expect(await serving()).toHaveLength(2);
    const { library } = await setting.people.person();
    const records = await Promise.all(
      Array.from({ length: 20 }, () => library.stored({ name: freshName() })),
    );
    await Promise.all(records.map(async (record) => expect(await library.read(record.name)).toEqual(record)));
  });

  test('share the cores: each has its part of the threads, and all of them are counted', async () => {
    // As many for short work as for long work; they are opened with the first work of a process.
    const threadsOfEach = 2 * Math.max(1, Math.floor(availableParallelism() / 2));
    await eventually('both with all of their threads', async () => {
      const asked = Array.from({ length: 16 }, (_, index) =>
        setting.call('GET', `/compute?n=${20 + index}`, { headers: { connection: 'close' } }),
      );
      for (const each of await Promise.all(asked)) expectStatus(each, 200);
      return (await readiness()).services.compute.threads === 2 * threadsOfEach;
    });
  });

  test('say in /readyz and in the administration how all of them do, whichever is asked', async () => {
    const paths = ['/readyz', '/admin/api/status'];
    const answers = await Promise.all(
      paths.flatMap((path) =>
        Array.from({ length: 12 }, () =>
          // On a busy machine a process may not answer in time, which is said.
          eventually('an answer of all processes', async () => {
            const answer = await setting.call('GET', path, {
              key: setting.adminKey,
              headers: { connection: 'close' },
            });
            const { services } = bodyOf<Readiness>(answer, 200);
            return services.processes.state === 'ready' && services;
          }),
        ),
      ),
    );
    for (const { compute, usage_events, processes } of answers) {
      expect(compute.threads).toBe(4 * Math.max(1, Math.floor(availableParallelism() / 2)));
      expect(processes).toEqual({ state: 'ready', serving: 2 });
      // Each has a journal of its own; a stream of JetStream is one for both.
      expect(usage_events.buffer_bytes_max).toBe(hasJournals ? 2 * BUFFER_BYTES_MAX : BUFFER_BYTES_MAX);
      expect(usage_events.synced_before_acknowledged).toBeTrue();
    }
  });

  test('all refuse a key as soon as one has revoked it', async () => {
    const path = `/v1/${setting.workspace}/trash`;
    for (let round = 0; round < 5; round++) {
      const { id, key } = await setting.people.newKey();
      expect(await everywhere(path, key)).toEqual([200]);
      expectStatus(await setting.people.revoke(id), 204);
      await soon(path, key, 401);
    }
  });

  test('all see a change of a document as soon as one has made it', async () => {
    const [owner, other] = [await setting.people.person(), await setting.people.person()];
    for (let round = 0; round < 5; round++) {
      const { id } = await owner.library.stored({ status: 'public' });
      const path = `/v1/${setting.workspace}/file/${id}/download/url`;
      expect(await everywhere(path, other.key)).toEqual([200]);
      expectStatus(await owner.library.bin(id), 204);
      await soon(path, other.key, 404);
    }
  });

  test('make one record of one upload, whichever of them is asked to confirm it', async () => {
    const { library } = await setting.people.person();
    const body = { temp_key: await library.uploaded(), document_metadata: { name: freshName() } };
    const answers = await Promise.all(Array.from({ length: 20 }, () => library.confirm(body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  test('answer /metrics for all of them, each time with the same sums', async () => {
    const path = `/v1/${setting.workspace}/trash`;
    const { key } = await setting.people.newKey();
    const asked =
      'atrium_http_request_duration_seconds_count{method="GET",route="/v1/{workspace_id}/trash",status="200"}';
    const before = (await figures()).get(asked) ?? 0;
    expect(await everywhere(path, key)).toEqual([200]);
    // 24 requests, dealt out to two processes, and 24 answers of either about them.
    const answers = await Promise.all(Array.from({ length: 24 }, figures));
    expect(new Set(answers.map((each) => each.get(asked)))).toEqual(new Set([before + 24]));
    const [some] = answers;
    for (const process of [1, 2])
      expect(some?.get(`process_resident_memory_bytes{process="${process}"}`)).toBeGreaterThan(1_000_000);
    expect(some?.has('process_resident_memory_bytes')).toBe(false);
  });

  test('go on without one that dies, and it is replaced', async () => {
    const [victim, survivor] = await serving();
    if (victim === undefined || survivor === undefined) throw new Error('there are not two processes');
    const before = sumOf(await figures());
    process.kill(victim, 'SIGKILL');
    const pids = await eventually('the replacement', async () => {
      const now = await serving();
      return now.length === 2 && !now.includes(victim) && now;
    });
    expect(pids).toContain(survivor);
    await eventually('all to answer', async () => {
      const answers = await Promise.allSettled([everywhere('/readyz', setting.adminKey)]);
      return answers.every((answer) => answer.status === 'fulfilled' && answer.value.join() === '200');
    });
    const { library } = await setting.people.person();
    const record = await library.stored();
    expect(await library.read(record.id)).toEqual(record);
    // What the dead one had counted is not lost: a sum that falls would look like a restart.
    expect(sumOf(await figures())).toBeGreaterThanOrEqual(before);
  });

  test('say in /readyz that one of them does not answer', async () => {
    const [victim] = await serving();
    if (victim === undefined) throw new Error('there are no processes');
    await eventually('both to answer', bothAnswer);
    freeze(victim);
    try {
      const { status, services } = await eventually('the silence to be reported', async () => {
        // The kernel gives some of them to the one that hangs.
        const all = await Promise.allSettled(Array.from({ length: 16 }, readiness));
        const answered = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
        return answered.find(({ services }) => services.processes.state === 'degraded');
      });
      expect(status).toBe('degraded');
      expect(services.processes).toMatchObject({
        serving: 1,
        detail: expect.stringMatching(/^no answer from process [12]$/),
      });
    } finally {
      // It may have been replaced.
      if ((await serving()).includes(victim)) process.kill(victim, 'SIGCONT');
    }
    await eventually('both to answer', bothAnswer);
  });

  test('go on without one that hangs, and it is replaced; no event waits for it', async () => {
    const [victim] = await serving();
    if (victim === undefined) throw new Error('there are no processes');
    freeze(victim);
    const pids = await eventually(
      'the replacement',
      async () => {
        const now = await serving();
        return now.length === 2 && !now.includes(victim) && now;
      },
      45_000,
    );
    expect(pids).toHaveLength(2);
    await eventually('the reason in the log', () =>
      setting.service.child.output().includes('has given no sign of life for too long'),
    );
    await eventually('all to answer', async () => {
      const answers = await Promise.allSettled([everywhere('/readyz', setting.adminKey)]);
      return answers.every((answer) => answer.status === 'fulfilled' && answer.value.join() === '200');
    });
    const metrics = createMetrics(setting.call, { workspace: setting.workspace, key: setting.adminKey });
    const source = freshName();
    for (let round = 0; round < 8; round++) expectStatus(await metrics.send(eventOf({ source })), 202);
    expect(await metrics.stored(source, 8)).toHaveLength(8);
  });

  test('end together with 0, and leave none behind', async () => {
    const last = await startSetting({ PROCESSES: '2', PORT: String(freePort()) });
    await using service = last.service;
    service.child.kill('SIGTERM');
    expect(await service.child.exited).toBe(0);
    await expect(fetch(`${last.url}/healthz`)).rejects.toThrow();
  });
});
