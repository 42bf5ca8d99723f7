// Two instances on one Postgres, one store and one NATS, behind the balancer of deploy/: under the load of all areas one after the
// other is replaced, and no request is lost. The clients are those of the faults by seeds.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Balancer, startBalancer } from '../../support/balancer.ts';
import { eventually, freePort } from '../../support/child.ts';
import { type RunningService, startService } from '../../support/service.ts';
import { becomesQuiet, checkUntilRight } from '../seeds/checks.ts';
import { type Client, createDesk, type Tally, type Violations, violate } from '../seeds/client.ts';
import { CLIENTS } from '../seeds/run-seed.ts';
import { configuredBucket } from '../support/bucket.ts';
import { createRandom } from '../support/random.ts';
import { SHARED_PARTS, startSharedServers } from '../support/shared-servers.ts';
import { createReadingClient } from './reading.ts';
import type { Version } from './versions.ts';
import { createListener, createVisitor, type Listener } from './visitors.ts';

const NAMES = ['one', 'two'] as const;
export type InstanceName = (typeof NAMES)[number];

/** One replacement: which instance, by which version. */
export type Step = { instance: InstanceName; version: Version };

export type Plan = {
  seed: number;
  /** Both run it at first. */
  from: Version;
  steps: readonly Step[];
  /** How long the load goes on between two steps. */
  restMs: number;
  pauseMs: { from: number; to: number };
  settings?: Record<string, string>;
};

/** What was seen from the beginning of one step to that of the next. */
export type Phase = {
  name: string;
  acknowledged: number;
  /** By status, or `lost`; without those that the operation has in that state. */
  failed: Record<string, number>;
  /** Requests that the instance was answering when it was told to end, most of them streams of several seconds. */
  running: number;
  /** From the call for its end until it had ended, and until the next one was in use. */
  endedMs: number;
  readyMs: number;
};

export type Outcome = { phases: Phase[]; acknowledged: Map<string, number>; violations: Violations };

/** Twice the interval at which the balancer asks, and a bit, as docs/operating/upgrade.md says. */
const SHUTDOWN_DELAY_MS = 3000;
/** A stream has the first 0.7 of it, on a crowded machine. */
const SHUTDOWN_TIMEOUT_MS = 60_000;
/** Until the balancer sends nothing more to an instance that was taken out, and what was on its way is answered. */
const DRAIN_MS = 1000;
const STREAM = { model: 'long', words: 30, listeners: 4 };
const STREAM_PAUSE_MS = 200;
/** On a crowded machine. */
const TIMEOUTS_MS = { connect: 20_000, first_byte: 20_000, idle: 20_000, total: 60_000 };
/** As long as a model may take: a stream is read to its end, for 6 s on a machine that is always in time. */
const ANSWER_MS_MAX = TIMEOUTS_MS.total;
const FAILURES = ['lost', '500', '502', '503', '504'];

/** Throws where an instance does not start; what clients saw is in the outcome. */
export async function rollOver(plan: Plan): Promise<Outcome> {
  await using begun = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'atrium-upgrade-'));
  begun.defer(() => rmSync(folder, { recursive: true, force: true }));
  const servers = begun.use(
    await startSharedServers({
      folder,
      timeoutsMs: TIMEOUTS_MS,
      models: { [STREAM.model]: `trickle+key=long+ms=${STREAM_PAUSE_MS}+words=${STREAM.words}` },
    }),
  );
  const ports = { one: freePort(), two: freePort() };
  const environment = {
    ...servers.environment,
    SHUTDOWN_DELAY_MS: `${SHUTDOWN_DELAY_MS}`,
    SHUTDOWN_TIMEOUT_MS: `${SHUTDOWN_TIMEOUT_MS}`,
    ...plan.settings,
  };
  const start = (name: InstanceName, { command }: Version): Promise<RunningService> =>
    startService({
      command,
      environment: { ...environment, PORT: `${ports[name]}`, DATA_DIR: join(folder, name) },
    });
  const instances = new Map<InstanceName, { service: RunningService; version: Version }>();
  begun.defer(async () => {
    await Promise.all([...instances.values()].map(({ service }) => service[Symbol.asyncDispose]()));
  });
  for (const name of NAMES)
    instances.set(name, { service: await start(name, plan.from), version: plan.from });
  const balancer = begun.use(await startBalancer(ports));
  for (const name of NAMES) await isInUse(balancer, name);

  const load = await createLoad(plan, balancer.url);
  const phases: Phase[] = [];
  const replace = async ({ instance, version }: Step): Promise<Omit<Phase, 'acknowledged' | 'failed'>> => {
    const old = instances.get(instance);
    if (old === undefined) throw new Error(`${instance} does not run`);
    const isListenedTo = async () => (await balancer.look(instance)).running >= STREAM.listeners / 2;
    await eventually(`streams of ${instance}`, async () => load.listening() > 0 && isListenedTo());
    const from = performance.now();
    if (!old.version.delaysItsEnd) {
      await balancer.set(instance, 'drain');
      await Bun.sleep(DRAIN_MS);
    }
    const { running } = await balancer.look(instance);
    old.service.child.kill('SIGTERM');
    const code = await old.service.child.exited;
    if (code !== 0) load.violate('SIGTERM ends an instance with 0', `${instance}: code ${code}`);
    const endedMs = performance.now() - from;
    instances.set(instance, { service: await start(instance, version), version });
    await balancer.set(instance, 'ready');
    await isInUse(balancer, instance);
    const readyMs = performance.now() - from;
    const name = `${instance}: ${old.version.name} → ${version.name}`;
    return { name, running, endedMs, readyMs };
  };
  await load.during(async () => {
    const begin = load.take();
    await Bun.sleep(plan.restMs);
    const quiet = { running: 0, endedMs: 0, readyMs: 0 };
    phases.push({ name: `both: ${plan.from.name}`, ...quiet, ...begin() });
    for (const step of plan.steps) {
      const take = load.take();
      const seen = await replace(step);
      await Bun.sleep(plan.restMs);
      phases.push({ ...seen, ...take() });
    }
  });
  await load.check({ url: balancer.url, bucket: () => configuredBucket(servers.environment) });
  for (const [name, { service }] of instances) {
    service.child.kill('SIGTERM');
    const code = await service.child.exited;
    if (code !== 0) load.violate('SIGTERM ends an instance with 0', `${name}: code ${code}`);
  }
  return { phases, acknowledged: load.tally.acknowledged, violations: load.violations };
}

const isInUse = (balancer: Balancer, name: InstanceName): Promise<unknown> =>
  eventually(`${name} to be in use`, async () => (await balancer.look(name)).state === 'UP');

async function createLoad({ seed, pauseMs, settings }: Plan, url: string) {
  const isRead = settings?.['CONTENT'] === 'on';
  const random = createRandom(seed);
  const tally: Tally = { acknowledged: new Map(), refused: new Map() };
  const violations: Violations = new Map();
  let [isPreparing, isOver] = [true, false];
  const deskOf = (kind: string) => {
    const own = random.fork();
    const desk = createDesk({
      url,
      kind,
      parts: SHARED_PARTS,
      bufferFails: false,
      random: own,
      tally,
      violations,
      isPreparing: () => isPreparing,
      isOver: () => isOver,
      answerMsMax: ANSWER_MS_MAX,
    });
    return { ...desk, pause: () => Bun.sleep(own.between(pauseMs)) };
  };
  const listeners: Listener[] = await Promise.all(
    Array.from({ length: STREAM.listeners }, () => createListener(deskOf('streams'), STREAM)),
  );
  const clients: Client[] = await Promise.all([
    ...Object.entries(CLIENTS)
      .filter(([kind]) => kind !== 'knowledge' || isRead)
      .map(([kind, create]) => create(deskOf(kind))),
    ...(isRead ? [createReadingClient(deskOf('reading'))] : []),
    createVisitor(deskOf('visitor')),
    createVisitor(deskOf('visitor')),
  ]);
  isPreparing = false;
  const all = [...clients, ...listeners];
  const sum = (): number => [...tally.acknowledged.values()].reduce((total, count) => total + count, 0);
  const failed = (): [string, number][] => FAILURES.map((name) => [name, tally.refused.get(name) ?? 0]);
  return {
    tally,
    violations,
    violate: (invariant: string, detail: string) => violate(violations, invariant, detail),
    listening: () => listeners.filter((each) => each.isListening()).length,
    /** What the clients see from here on. */
    take() {
      const [before, failedBefore] = [sum(), new Map(failed())];
      return (): Pick<Phase, 'acknowledged' | 'failed'> => ({
        acknowledged: sum() - before,
        failed: Object.fromEntries(
          failed()
            .map(([name, count]) => [name, count - (failedBefore.get(name) ?? 0)] as const)
            .filter(([, count]) => count > 0),
        ),
      });
    },
    async during(run: () => Promise<void>): Promise<void> {
      const working = Promise.all(all.map((client) => client.work()));
      try {
        await run();
      } finally {
        isOver = true;
        await working;
      }
    },
    /** Nothing that was acknowledged is lost or doubled. */
    async check(site: Parameters<typeof checkUntilRight>[0]): Promise<void> {
      await becomesQuiet(site);
      await Promise.all(all.map((client) => client.settle()));
      for (const problem of await checkUntilRight(site, { parts: SHARED_PARTS }, clients))
        violate(violations, problem.replace(/:.*/s, ''), problem);
    },
  };
}
