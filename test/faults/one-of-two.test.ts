// Two instances on one Postgres, MinIO and NATS. The one that was there first stands still for longer than all leases and
// comes back, or loses the database for as long. Meanwhile people work at the other one: nothing of theirs fails, and of what any of them was answered nothing is lost or done twice.

import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMetrics, eventOf } from '../acceptance/support/metrics.ts';
import { eventually, freeze } from '../support/child.ts';
import { missingNats } from '../support/nats-server.ts';
import { missingStore } from '../support/object-stores.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { becomesQuiet, checkUntilRight } from './seeds/checks.ts';
import { type Client, createDesk, type Tally, type Violations } from './seeds/client.ts';
import { CLIENTS } from './seeds/run-seed.ts';
import { configuredBucket } from './support/bucket.ts';
import { createPlainCaller } from './support/caller.ts';
import { createRandom } from './support/random.ts';
import { SHARED_PARTS, startSharedServers } from './support/shared-servers.ts';
import { createReadingClient } from './upgrade/reading.ts';

const missing = missingNats() ?? missingStore('minio');

/** Its documents are purged one by one, and then it has nothing more to do. */
const endsByItself = (kind: string): boolean => kind === 'knowledge';

/** Longer than the leases of the leaders (15 s) and of a document that is read (10 s); STRUCK_SECONDS takes any other. */
const STRUCK_MS = 1000 * Number(process.env['STRUCK_SECONDS'] ?? 17);
/** Longer than the fault, and than the longest time-out of the service. */
const ANSWER_MS_MAX = STRUCK_MS + 60_000;
const TIMEOUTS_MS = { connect: 20_000, first_byte: 20_000, idle: 20_000, total: 60_000 };
const PAUSE_MS = { from: 250, to: 750 };
/** Of these, more is acknowledged by the other instance while the fault lasts. */
const ALL = [
  'bots',
  'chat',
  'documents',
  'events',
  'keys',
  'knowledge',
  'models',
  'portal',
  'reader',
  'reading',
];
/** At the one that is struck; those who watch revocations everywhere look at the other. */
const STRUCK = ['bots', 'chat', 'documents', 'events', 'knowledge', 'models', 'portal'];

type Struck = { service: RunningService; link: TcpProxy };
const FAULTS: Record<string, (struck: Struck) => () => void> = {
  'stands still, and comes back': ({ service: { child } }) => {
    freeze(child.pid);
    return () => child.kill('SIGCONT');
  },
  'cannot reach the database': ({ link }) => {
    link.stall();
    return () => link.heal();
  },
};

async function createCrew(
  url: string,
  kinds: readonly string[],
  options: { seed: number; violations: Violations },
) {
  const random = createRandom(options.seed);
  const tally: Tally = { acknowledged: new Map(), refused: new Map() };
  const acknowledged = new Map<string, Tally['acknowledged']>();
  let [isPreparing, isOver] = [true, false];
  const makers = { ...CLIENTS, reading: createReadingClient } as Record<string, (typeof CLIENTS)['chat']>;
  const clients: Client[] = await Promise.all(
    kinds.map((kind) => {
      const own = { acknowledged: new Map(), refused: tally.refused };
      acknowledged.set(kind, own.acknowledged);
      const desk = createDesk({
        url,
        kind,
        parts: SHARED_PARTS,
        bufferFails: false,
        random: random.fork(),
        tally: own,
        violations: options.violations,
        isPreparing: () => isPreparing,
        isOver: () => isOver,
        answerMsMax: ANSWER_MS_MAX,
        pauseMs: PAUSE_MS,
      });
      const make = makers[kind];
      if (make === undefined) throw new Error(`no client is called ${kind}`);
      return make(desk);
    }),
  );
  isPreparing = false;
  const working = Promise.all(clients.map((client) => client.work()));
  const count = (kind: string): number => acknowledged.get(kind)?.get(kind) ?? 0;
  return {
    clients,
    refused: tally.refused,
    /** Each of the kinds has been acknowledged something that began after the call. */
    async goesOn(): Promise<void> {
      const before = kinds.map(count);
      const waiting = () =>
        kinds.filter((kind, index) => !endsByItself(kind) && count(kind) < (before[index] ?? 0) + 2);
      await eventually('answers for each kind', () => waiting().length === 0, 60_000).catch(
        (error: Error) => {
          throw new Error(`${error.message}: ${waiting()}`);
        },
      );
    },
    async end(): Promise<void> {
      isOver = true;
      await working;
    },
  };
}

for (const [what, strike] of Object.entries(FAULTS))
  test.skipIf(missing !== undefined)(
    `an instance that ${what} leaves its work to the other one, and nothing is lost or done twice`,
    async () => {
      await using begun = new AsyncDisposableStack();
      const folder = mkdtempSync(join(tmpdir(), 'atrium-one-of-two-'));
      begun.defer(() => rmSync(folder, { recursive: true, force: true }));
      const { environment, ...servers } = await startSharedServers({ folder, timeoutsMs: TIMEOUTS_MS });
      begun.use(servers);
      const database = new URL(environment.DATABASE_URL);
      const link = begun.use(await startTcpProxy(database.href));
      const start = async (name: string, url: string): Promise<RunningService> =>
        begun.use(
          await startService({
            environment: { ...environment, DATABASE_URL: url, CONTENT: 'on' },
            dataDir: join(folder, name),
          }),
        );
      const one = await start('one', link.url);
      const violations: Violations = new Map();
      const there = await createCrew(one.url, STRUCK, { seed: 1, violations });
      begun.defer(there.end);
      await there.goesOn();
      const two = await start('two', environment.DATABASE_URL);
      const here = await createCrew(two.url, ALL, { seed: 2, violations });
      begun.defer(here.end);
      await Promise.all([there.goesOn(), here.goesOn()]);

      const struckAt = performance.now();
      const heal = strike({ service: one, link });
      begun.defer(heal);
      const metrics = createMetrics(createPlainCaller(two.url, ANSWER_MS_MAX), {
        workspace: WORKSPACE,
        key: BOOTSTRAP_KEY,
      });
      // An event that comes meanwhile is stored, and can be read.
      expect((await metrics.send(eventOf({ source: 'meanwhile' }))).status).toBe(202);
      await here.goesOn();
      expect(await metrics.stored('meanwhile', 1)).toHaveLength(1);
      const takenOverMs = performance.now() - struckAt;
      await Bun.sleep(Math.max(0, STRUCK_MS - takenOverMs));
      await here.goesOn();
      heal();
      const healedAt = performance.now();
      await Promise.all([there.goesOn(), here.goesOn()]);
      const backMs = performance.now() - healedAt;
      await Promise.all([there.end(), here.end()]);

      const sites = [one, two].map(({ url }) => ({ url, bucket: () => configuredBucket(environment) }));
      for (const site of sites) await becomesQuiet(site);
      const clients = [...there.clients, ...here.clients];
      await Promise.all(clients.map((client) => client.settle()));
      const [, site] = sites;
      if (site === undefined) throw new Error('there are two');
      expect(await checkUntilRight(site, { parts: SHARED_PARTS }, clients)).toEqual([]);
      expect([...violations]).toEqual([]);
      const failures = (refused: Tally['refused']) =>
        Object.fromEntries([...refused].filter(([status]) => status === 'lost' || Number(status) >= 500));
      if (process.env['STRUCK_SHOWN']) {
        const [takenOver, back] = [takenOverMs, backMs].map(Math.round);
        console.log(what, { takenOver, back, there: failures(there.refused), here: failures(here.refused) });
      }
      expect(failures(here.refused)).toEqual({});
      // What it cannot do it refuses, and loses nobody's answer.
      expect(Object.keys(failures(there.refused)).filter((status) => status !== '503')).toEqual([]);
    },
    STRUCK_MS + 300_000,
  );
