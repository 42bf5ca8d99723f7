// The service is killed again and again while models are asked: every answered request is charged, once.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bodyOf, createCaller } from '../acceptance/support/caller.ts';
import { eventually, freePort } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { type MockUpstream, startMockUpstream } from '../support/mock-upstream.ts';
import { startPostgresServer } from '../support/postgres-server.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { asksAgain } from './support/caller.ts';
import { onCluster, startMessageQueue } from './support/message-queue.ts';
import { createRandom, type Random, seedOfRun } from './support/random.ts';

const CRASHES = 6;
const CLIENTS = 6;
const LOAD_MS = { from: 300, to: 1500 };
/** At least so many answers come whole before each crash, however long a slow machine takes for them. */
const ANSWERS_MIN = 90;

/** What clients saw: of each model, answers that came whole, and requests that got none. */
type Seen = Record<'whole' | 'streamed', { answered: number; lost: number }>;

for (const processes of ['1', '2']) {
  test(`${CRASHES} crashes of ${processes} process(es) lose no account and double none`, async () => {
    const seed = seedOfRun();
    const dataDir = freshFolder();
    const postgres = await startPostgresServer();
    const queue = onCluster ? await startMessageQueue() : undefined;
    const mock = await startMockUpstream();
    const port = String(freePort());
    const path = join(dataDir, 'models.json');
    writeFileSync(path, JSON.stringify(modelsFile(mock)));
    const start = (): Promise<RunningService> =>
      startService({
        dataDir,
        detached: true,
        environment: {
          PORT: port,
          DATABASE_URL: postgres.url,
          PROCESSES: processes,
          MODELS_CONFIG: path,
          ...queue?.environment,
        },
      });
    let service = await start();
    const seen: Seen = { whole: { answered: 0, lost: 0 }, streamed: { answered: 0, lost: 0 } };
    let ending = false;
    const random = createRandom(seed);
    const clients = Array.from({ length: CLIENTS }, () =>
      askAgainAndAgain(service.url, { seen, random: random.fork(), isEnding: () => ending }),
    );
    try {
      for (let crash = 0; crash < CRASHES; crash++) {
        await Bun.sleep(random.between(LOAD_MS));
        await eventually('answers', () => seen.whole.answered > ANSWERS_MIN * (crash + 1));
        // Of a cluster each server in turn, and with the last crash all of them.
        const servers = (queue?.servers ?? []).filter(
          (_, index, all) => crash === CRASHES - 1 || index === crash % all.length,
        );
        // While the buffer fails records wait in memory: so the service goes first.
        service.child.kill('SIGKILL');
        await Promise.all([service.child.exited, ...servers.map(({ kill }) => kill())]);
        await Promise.all(servers.map((server) => server.start()));
        service = await start();
      }
      ending = true;
      await Promise.all(clients);
      await expectAccounts(service, seen);
    } catch (error) {
      console.error(`FAULT_SEED=${seed}`);
      throw error;
    } finally {
      ending = true;
      service.child.kill('SIGKILL');
      await service.child.exited;
      await mock.stop();
      await queue?.stop();
      await postgres.stop();
    }
  });
}

const modelsFile = (mock: MockUpstream): object => ({
  upstreams: { mock: { base_url: `${mock.url}/v1`, retries: 0 } },
  models: {
    whole: { targets: [{ upstream: 'mock', model: 'fast' }] },
    streamed: { targets: [{ upstream: 'mock', model: 'fast-20' }] },
  },
});

async function askAgainAndAgain(
  url: string,
  { seen, random, isEnding }: { seen: Seen; random: Random; isEnding: () => boolean },
): Promise<void> {
  while (!isEnding()) {
    const model = random.chance(0.3) ? 'streamed' : 'whole';
    try {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${BOOTSTRAP_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model,
          stream: model === 'streamed',
          messages: [{ role: 'user', content: 'hello' }],
        }),
        signal: AbortSignal.timeout(5000),
      });
      const text = await response.text();
      const isWhole = response.status === 200 && (model === 'whole' || text.includes('[DONE]'));
      if (isWhole) seen[model].answered += 1;
      else seen[model].lost += 1;
    } catch {
      seen[model].lost += 1;
    }
    await Bun.sleep(20);
  }
}

type Readiness = { services: { usage_events: { waiting_packs: number } } };
type Usage = { items: { group: string; requests: number; prompt_tokens: number }[] };

async function expectAccounts({ url }: RunningService, seen: Seen): Promise<void> {
  const call = asksAgain(createCaller(url));
  const read = async (): Promise<Map<string, number>> => {
    const path = `/admin/api/workspaces/${WORKSPACE}/model-usage`;
    const { items } = bodyOf<Usage>(await call('GET', path, { key: BOOTSTRAP_KEY }), 200);
    return new Map(items.map(({ group, requests }) => [group, requests]));
  };
  const isAccounted = (counts: Map<string, number>): boolean =>
    (['whole', 'streamed'] as const).every((model) => (counts.get(model) ?? 0) >= seen[model].answered);
  let counts = new Map<string, number>();
  await eventually('every account', async () => {
    counts = await read();
    return isAccounted(counts);
  }).catch(() => undefined);
  const accounted = [...counts];
  expect({ seen, accounted, all: isAccounted(counts) }).toEqual({ seen, accounted, all: true });
  // None comes twice.
  await eventually('all events to be stored', async () => {
    const { services } = bodyOf<Readiness>(await call('GET', '/readyz'), 200);
    return services.usage_events.waiting_packs === 0;
  });
  for (const [model, requests] of await read()) {
    const { answered, lost } = seen[model as keyof Seen];
    expect(requests).toBeGreaterThanOrEqual(answered);
    expect(requests).toBeLessThanOrEqual(answered + lost);
  }
  expect(seen.whole.answered).toBeGreaterThan(ANSWERS_MIN * CRASHES);
}
