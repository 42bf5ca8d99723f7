// What has to be true once every fault is over: the service says that it is well, every client finds what it was answered, and
// the bucket holds what the records name.

import { bodyOf, type Caller } from '../../acceptance/support/caller.ts';
import { createMetrics } from '../../acceptance/support/metrics.ts';
import { eventually } from '../../support/child.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../support/service.ts';
import { listKeys } from '../support/bucket.ts';
import { createPlainCaller } from '../support/caller.ts';
import type { Client, World } from './client.ts';
import { readAudit } from './clients/portal.ts';
import type { Plan } from './plan.ts';
import type { Site } from './site.ts';
import { sweepsWithinSeed } from './sweeps.ts';

const QUIESCENCE_MS = 60_000;
const CHECKS_MS = 120_000;
/** A check reads everything, so that what takes longer is looked at less often. */
const CHECK_PAUSE_MS = { min: 250, max: 2000 };

const askModels = (call: Caller): Promise<unknown> =>
  Promise.all(
    ['whole', 'streamed'].map((model) =>
      call('POST', '/v1/chat/completions', {
        headers: { authorization: `Bearer ${BOOTSTRAP_KEY}`, connection: 'close' },
        json: { model, messages: [{ role: 'user', content: 'Are you there?' }] },
      }).catch(() => undefined),
    ),
  );

/** Every process says several times that all is well. */
export async function becomesQuiet({ url }: Pick<Site, 'url'>): Promise<void> {
  const call = createPlainCaller(url, 3000);
  let [inARow, last] = [0, ''];
  await eventually(
    'readiness',
    async () => {
      const answer = await call('GET', '/readyz', { headers: { connection: 'close' } }).catch(
        () => undefined,
      );
      last = answer?.text ?? '';
      // A target that failed is left alone, and counts as failing, until it has answered again.
      if (last.includes('are left alone for a while')) await askModels(call);
      const isReady = answer?.status === 200 && (JSON.parse(last) as { status: string }).status === 'ready';
      inARow = isReady ? inARow + 1 : 0;
      return inARow >= 6;
    },
    QUIESCENCE_MS,
  ).catch((error: Error) => {
    throw new Error(`${error.message}; last: ${last}`);
  });
}

type Reached = Pick<Site, 'url' | 'bucket'>;

/** What is still not right when the time is over; deletions and deliveries that are under way may take theirs. */
export async function checkUntilRight(
  site: Reached,
  plan: Pick<Plan, 'parts'>,
  clients: readonly Client[],
  timeoutMs = CHECKS_MS,
): Promise<string[]> {
  const until = performance.now() + timeoutMs;
  for (let pauseMs = CHECK_PAUSE_MS.min; ; pauseMs = Math.min(2 * pauseMs, CHECK_PAUSE_MS.max)) {
    const problems = await check(site, plan, clients).catch((error: Error) => [
      `everything can be read: ${error.stack}`,
    ]);
    if (problems.length === 0 || performance.now() > until) return problems;
    await Bun.sleep(pauseMs);
  }
}

async function check(
  site: Reached,
  plan: Pick<Plan, 'parts'>,
  clients: readonly Client[],
): Promise<string[]> {
  const world = await lookAt(site);
  const problems = (await Promise.all(clients.map((client) => client.check(world)))).flat();
  const expected = clients.flatMap((client) => client.objects?.() ?? []).toSorted();
  const found = await listKeys(site.bucket());
  if (!Bun.deepEquals(found, expected)) {
    const without = expected.filter((key) => !found.includes(key));
    const more = found.filter((key) => !expected.includes(key));
    if (without.length === 0 && !sweepsWithinSeed(plan.parts)) return problems;
    problems.push(`the bucket holds what the records name: it lacks ${without}, and has ${more} beside`);
  }
  return problems;
}

async function lookAt({ url }: Reached): Promise<World> {
  const call = createPlainCaller(url);
  const metrics = createMetrics(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  const path = `/admin/api/workspaces/${WORKSPACE}/model-usage`;
  const [events, audit, answer] = await Promise.all([
    metrics.all(),
    readAudit(call, { workspace: WORKSPACE, adminKey: BOOTSTRAP_KEY }),
    call('GET', path, { key: BOOTSTRAP_KEY, query: { group_by: 'key' } }),
  ]);
  const { items } = bodyOf<{ items: { group: string; requests: number; cost: number }[] }>(answer, 200);
  return { events, audit, usage: new Map(items.map(({ group, ...sums }) => [group, sums])) };
}
