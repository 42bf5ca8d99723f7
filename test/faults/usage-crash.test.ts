// Service, message queue and database are killed, one by one and together, while applications send usage events:
// what was acknowledged is there in the end, once, and counted.

import { describe, expect, test } from 'bun:test';
import { bodyOf, type Caller } from '../acceptance/support/caller.ts';
import { createMetrics, eventOf, type MetricRecord } from '../acceptance/support/metrics.ts';
import { eventually, freePort } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { missingNats } from '../support/nats-server.ts';
import { type PostgresUnderTest, startPostgresServer } from '../support/postgres-server.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../support/service.ts';
import { asksAgain, createPlainCaller, LostAnswer } from './support/caller.ts';
import { type MessageQueue, onCluster, startMessageQueue } from './support/message-queue.ts';
import { createRandom, type Random, seedOfRun } from './support/random.ts';

const CRASHES = 15;
const CHECK_EVERY = 5;
const SENDERS = 5;
const LOAD_MS = { from: 150, to: 900 };
const OUTAGE_MS = { from: 0, to: 400 };
/** Between two batches of a sender: each check reads every event. */
const PAUSE_MS = 120;
/** At least so many are acknowledged before each crash. */
const EVENTS_MIN = 10;

/** What was promised, and what may have happened. */
type Ledger = { acknowledged: Set<string>; sent: Set<string>; people: Set<string>; resting: boolean };

type Site = {
  postgres: PostgresUnderTest;
  queue: MessageQueue | undefined;
  service: RunningService;
  restart(): Promise<void>;
};

const missing = missingNats();
const jetStream = onCluster ? 'a cluster of JetStream' : 'JetStream';
const BUFFERS = [
  ...(onCluster ? [] : [{ name: 'the journal', nats: false, skip: false }]),
  {
    name: missing === undefined ? jetStream : `${jetStream} (${missing})`,
    nats: true,
    skip: missing !== undefined,
  },
];

for (const { name, nats, skip } of BUFFERS) {
  describe.skipIf(skip)(`over ${name}`, () => {
    test(`${CRASHES} crashes lose no acknowledged event and double none`, async () => {
      const seed = seedOfRun();
      const random = createRandom(seed);
      const dataDir = freshFolder();
      const postgres = await startPostgresServer();
      const queue = nats ? await startMessageQueue() : undefined;
      const site = await open({ postgres, queue, dataDir, random });
      try {
        await crashRepeatedly(site, random);
      } catch (error) {
        console.error(`FAULT_SEED=${seed}`);
        throw error;
      } finally {
        site.service.child.kill('SIGKILL');
        await site.service.child.exited;
        await queue?.stop();
        await postgres.stop();
      }
    });
  });
}

async function open(parts: {
  postgres: PostgresUnderTest;
  queue: MessageQueue | undefined;
  dataDir: string;
  random: Random;
}): Promise<Site> {
  const { postgres, queue, dataDir, random } = parts;
  // One port for all starts: the senders do not know of any.
  const port = `${freePort()}`;
  const start = () =>
    startService({
      dataDir,
      detached: true,
      environment: {
        PORT: port,
        DATABASE_URL: postgres.url,
        PROCESSES: random.chance(0.25) ? '2' : '1',
        ...queue?.environment,
      },
    });
  const site: Site = {
    postgres,
    queue,
    service: await start(),
    async restart() {
      site.service = await start();
    },
  };
  return site;
}

async function crashRepeatedly(site: Site, random: Random): Promise<void> {
  const call = createPlainCaller(site.service.url, 4000);
  const ledger: Ledger = { acknowledged: new Set(), sent: new Set(), people: new Set(), resting: false };
  let ending = false;
  const isEnding = (): boolean => ending;
  const senders = [
    ...Array.from({ length: SENDERS }, () => sendEvents(call, { ledger, random: random.fork(), isEnding })),
    addPeople(call, { ledger, isEnding }),
  ];
  try {
    for (let crash = 1; crash <= CRASHES; crash++) {
      await Bun.sleep(random.between(LOAD_MS));
      // A slow machine takes as long as it needs.
      await eventually('a person', () => ledger.people.size > crash);
      await eventually('events', () => ledger.acknowledged.size > crash * EVENTS_MIN);
      await crashSome(site, random);
      if (crash % CHECK_EVERY !== 0) continue;
      ledger.resting = true;
      await verify(site.service.url, ledger);
      ledger.resting = false;
    }
  } finally {
    ending = true;
    await Promise.all(senders);
  }
  await verify(site.service.url, ledger, { whole: true });
  expect(ledger.acknowledged.size).toBeGreaterThan(CRASHES * EVENTS_MIN);
  expect(ledger.people.size).toBeGreaterThan(CRASHES);
}

/** Any of them, and sometimes all; they come back in any order. */
async function crashSome(site: Site, random: Random): Promise<void> {
  const kills = [
    {
      kill: async () => {
        site.service.child.kill('SIGKILL');
        await site.service.child.exited;
      },
      start: site.restart,
    },
    { kill: site.postgres.kill, start: site.postgres.start },
    ...(site.queue?.servers ?? []),
  ];
  const chosen = kills.filter(() => random.chance(0.6));
  const hit = chosen.length === 0 ? kills.slice(0, 1) : chosen;
  await Promise.all(hit.map(({ kill }) => kill()));
  await Promise.all(
    hit.map(async ({ start }) => {
      await Bun.sleep(random.between(OUTAGE_MS));
      await start();
    }),
  );
}

type Sender = { ledger: Ledger; random: Random; isEnding(): boolean };

/** Sends batches, and some of them again, as an application does that has had no answer. */
async function sendEvents(call: Caller, { ledger, random, isEnding }: Sender): Promise<void> {
  const metrics = createMetrics(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  let again: Record<string, unknown>[] = [];
  while (!isEnding()) {
    await Bun.sleep(PAUSE_MS);
    if (ledger.resting) continue;
    const fresh = Array.from({ length: random.between({ from: 1, to: 30 }) }, () =>
      eventOf({
        source: 'crash',
        type: random.pick(['a.x', 'a.y', 'b']) ?? 'a.x',
        subject: `p${random.below(5)}`,
      }),
    );
    const events = [...fresh, ...again];
    const ids = events.map(({ id }) => String(id));
    for (const id of ids) ledger.sent.add(id);
    again = [];
    const answer = await metrics.sendAll(events).catch(lost);
    if (answer?.status === 202) for (const id of ids) ledger.acknowledged.add(id);
    else if (answer !== undefined && ![500, 503].includes(answer.status)) throw new Error(answer.text);
    else if (answer?.status === 500) throw new Error(`500: ${answer.text}`);
    if (answer?.status !== 202 || random.chance(0.2)) again = events.slice(0, 60);
  }
}

/** Each person who is added causes an event of the service's own. */
async function addPeople(call: Caller, { ledger, isEnding }: Omit<Sender, 'random'>): Promise<void> {
  while (!isEnding()) {
    const email = `${crypto.randomUUID()}@example.com`;
    const json = { email };
    const path = `/admin/api/workspaces/${WORKSPACE}/users`;
    const answer = await call('POST', path, { key: BOOTSTRAP_KEY, json }).catch(lost);
    if (answer?.status === 201) ledger.people.add(email);
    await Bun.sleep(ledger.resting ? 500 : 60);
  }
}

function lost(error: unknown): undefined {
  if (!(error instanceof LostAnswer)) throw error;
}

/** With nobody sending, also that nothing is there that nobody sent, and that every count is right. */
async function verify(url: string, ledger: Ledger, { whole = false } = {}): Promise<void> {
  const call = asksAgain(createPlainCaller(url));
  const metrics = createMetrics(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  const promised = new Set(ledger.acknowledged);
  const people = new Set(ledger.people);
  let [missing, count] = [promised.size, 0];
  const found = await eventually(
    'everything that was acknowledged to be there',
    async () => {
      const items = await metrics.all().catch(() => undefined);
      if (items === undefined) return undefined;
      count = items.length;
      const ids = new Set(items.map(({ event_id }) => event_id));
      const subjects = new Set(
        items.filter(({ type }) => type === 'auth.user.create').map(({ subject }) => subject),
      );
      missing = promised.difference(ids).size + people.difference(subjects).size;
      return missing === 0 && items;
    },
    60_000,
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${missing} are missing, ${count} are there`);
  });
  expectOnce(found);
  if (!whole) return;
  await eventually('the counts to stand still', async () => {
    const items = await metrics.all();
    expectOnce(items);
    const sent = items.filter(({ source }) => source === 'crash');
    expect(sent.every(({ event_id }) => ledger.sent.has(event_id))).toBeTrue();
    const summed: string[][] = [];
    for (const group of GROUPS) {
      const answer = await metrics.get('summary', { group_by: group });
      const { items: sums } = bodyOf<{ items: { key: string; events: number }[] }>(answer, 200);
      summed.push(sums.map(({ key, events }) => `${key} ${events}`).sort());
    }
    // What was sent without an answer may have been stored meanwhile.
    const { total } = await metrics.page({ include_total: true, size: 0 });
    if (total !== items.length) return false;
    expect(summed).toEqual(GROUPS.map((group) => countBy(items, group)));
    return true;
  });
}

const GROUPS = ['type', 'subject', 'source'] as const;

const countBy = (items: readonly MetricRecord[], group: (typeof GROUPS)[number]): string[] =>
  Object.entries(Object.groupBy(items, (item) => item[group]))
    .map(([key, events]) => `${key} ${events?.length}`)
    .sort();

function expectOnce(items: readonly MetricRecord[]): void {
  const names = items.map(({ source, event_id }) => `${source} ${event_id}`);
  expect(new Set(names).size).toBe(names.length);
  const order = items.map(({ created_at, id }) => `${created_at} ${id}`);
  expect(order).toEqual(order.toSorted());
}
