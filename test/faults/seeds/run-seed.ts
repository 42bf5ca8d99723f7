// One seed from begin to end, in the phases that harnesses of this kind share: set up, load under faults, heal, wait for
// quiescence, check, end, check what is left. Clients know nothing of faults, faults nothing of clients, and only what clients
// were answered is checked.

import { Database } from 'bun:sqlite';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/child.ts';
import { createRandom } from '../support/random.ts';
import { becomesQuiet, checkUntilRight } from './checks.ts';
import { type Client, createDesk, type Desk, type Tally, type Violations, violate } from './client.ts';
import { createBotsClient } from './clients/bots.ts';
import { createChannelClient } from './clients/chat.ts';
import { createDocumentsClient } from './clients/documents.ts';
import { createEventsClient, createReaderClient } from './clients/events.ts';
import { createKeysClient } from './clients/keys.ts';
import { createKnowledgeClient } from './clients/knowledge.ts';
import { createModelsClient } from './clients/models.ts';
import { createPortalClient } from './clients/portal.ts';
import { strike } from './faults.ts';
import type { ModelUpstream } from './parts/models.ts';
import { survivorsOf } from './parts/processes.ts';
import { type ClientKind, type Plan, planOf } from './plan.ts';
import type { Available } from './planned.ts';
import { checkRevocations } from './revocations.ts';
import { type Site, startSite } from './site.ts';

export type Outcome = {
  plan: Plan;
  tally: Tally;
  struck: Map<string, number>;
  violations: Violations;
  /** What the service wrote, where something was violated. */
  output: string;
  elapsedMs: number;
  /** When each phase was over, in milliseconds from the begin. */
  phases: Record<string, number>;
};

export type Surroundings = { template: string; upstream: ModelUpstream; available: Available };

export const CLIENTS: Record<ClientKind, (desk: Desk) => Promise<Client>> = {
  documents: createDocumentsClient,
  events: createEventsClient,
  reader: createReaderClient,
  models: createModelsClient,
  chat: createChannelClient,
  bots: createBotsClient,
  keys: createKeysClient,
  portal: createPortalClient,
  knowledge: createKnowledgeClient,
};

const COPY_LOAD_MS = 800;

export async function runSeed(
  seed: number,
  { template, upstream, available }: Surroundings,
): Promise<Outcome> {
  const begunAt = performance.now();
  const plan = planOf(seed, available);
  const tally: Tally = { acknowledged: new Map(), refused: new Map() };
  const violations: Violations = new Map();
  let site: Site | undefined;
  let output = '';
  const phases: Outcome['phases'] = {};
  const over = (phase: string): void => {
    phases[phase] = Math.round(performance.now() - begunAt);
  };
  try {
    site = await startSite(plan.parts, { template, upstream });
    over('start');
    await runPhases(site, { plan, tally, violations, over });
  } catch (error) {
    violate(violations, 'a seed runs to its end', error instanceof Error ? `${error.stack}` : String(error));
  } finally {
    if (site !== undefined && violations.size > 0) output = site.parts.service.output();
    await site?.stop();
  }
  const elapsedMs = Math.round(performance.now() - begunAt);
  return { plan, tally, struck: site?.struck ?? new Map(), violations, output, elapsedMs, phases };
}

type Run = { plan: Plan; tally: Tally; violations: Violations; over(phase: string): void };

const FAULTS_OF_DISKS: ReadonlySet<string> = new Set(['fill', 'fail calls of', 'slow', 'hang']);

async function runPhases(site: Site, { plan, tally, violations, over }: Run): Promise<void> {
  let isPreparing = true;
  let loadIsOver = false;
  const bufferFails = plan.faults.some(
    ({ kind, target }) => FAULTS_OF_DISKS.has(kind) || target === 'group' || target.startsWith('nats'),
  );
  const desks = plan.clients.map(({ kind, seed }) => {
    const random = createRandom(seed);
    const { parts } = plan;
    return {
      kind,
      desk: createDesk({
        url: site.url,
        kind,
        parts,
        bufferFails,
        random,
        tally,
        violations,
        isPreparing: () => isPreparing,
        isOver: () => loadIsOver,
      }),
    };
  });
  const clients = await Promise.all(desks.map(({ kind, desk }) => CLIENTS[kind](desk)));
  isPreparing = false;

  /** Lets the clients work while `run` does; returns when they are done with what they had begun. */
  const workDuring = async (run: () => Promise<unknown>): Promise<void> => {
    loadIsOver = false;
    const load = Promise.all(clients.map((client) => client.work()));
    try {
      await run();
    } finally {
      loadIsOver = true;
      await load;
    }
  };
  const settle = async (): Promise<void> => {
    await becomesQuiet(site).catch((error: Error) =>
      violate(violations, 'the service is ready again', error.message),
    );
    over('quiet');
    await Promise.all(clients.map((client) => client.settle()));
    over('settled');
  };

  await workDuring(async () => {
    await Promise.all([strike(site, plan.faults), Bun.sleep(plan.loadMs)]);
    heal(site);
    await Promise.all(Object.values(site.parts).map((part) => part.start()));
  });
  over('load');
  await settle();
  if (plan.parts.olderCopy) {
    const forget = clients.map((client) => client.keep());
    const restore = await site.copy();
    await workDuring(() => Bun.sleep(COPY_LOAD_MS));
    await restore();
    for (const each of forget) each();
    await settle();
  }
  const { parts, outageAfterRevocations: outage } = plan;
  for (const problem of [
    ...(await checkRevocations(site, { processes: parts.processes, outage })),
    ...(await checkUntilRight(site, plan, clients)),
  ])
    violate(violations, problem.replace(/:.*/s, ''), problem);
  over('checked');
  for (const last of site.parts.service.endedByItself) violate(violations, 'no process ends by itself', last);
  await checkEnd(site, violations);
}

function heal({ links, smallDisk, clocks }: Site): void {
  for (const link of Object.values(links)) link.heal();
  smallDisk?.free();
  for (const clock of Object.values(clocks)) clock?.set(0);
}

/** An end in order, after which nothing of the service runs and every file of the embedded store has its name. */
async function checkEnd(site: Site, violations: Violations): Promise<void> {
  const code = await site.parts.service.end();
  if (code !== 0) violate(violations, 'SIGTERM ends the service with 0', `code ${code}`);
  await eventually('all processes to end', () => survivorsOf(site.dataDir()).length === 0).catch(() =>
    violate(violations, 'no process is left behind', survivorsOf(site.dataDir()).join('\n')),
  );
  const store = join(site.dataDir(), 'object-store');
  if (!existsSync(join(store, 'catalogue.sqlite'))) return;
  using catalogue = new Database(join(store, 'catalogue.sqlite'), { readonly: true });
  const rows = catalogue.query<{ blob: string }, []>('SELECT DISTINCT blob FROM objects').all();
  const named = rows.map(({ blob }) => blob).toSorted();
  const files = readdirSync(join(store, 'blobs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();
  if (!Bun.deepEquals(named, files))
    violate(violations, 'every file of the store has a name', `${files.length} files, ${named.length} names`);
}
