// JetStream as a cluster of three servers with three copies: what was acknowledged is delivered, once and in order,
// whatever happens to one server after the other, to the leaders, or to the network between them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect, type NatsConnection } from 'nats';
import type { Delivery, EventBuffer } from '../../src/usage/buffer/event-buffer.ts';
import { createJetStreamBuffer } from '../../src/usage/buffer/jetstream/index.ts';
import { eventually } from '../support/child.ts';
import { missingNats, type PartableCluster, startPartableCluster } from '../support/nats-server.ts';
import { collectingLog } from './event-buffers.ts';

const WRITERS = 8;
/** Appends that must have been acknowledged between two faults. */
const STEP = 150;
/** Between two appends of a writer: while a server comes back, those of all writers cost more processor time than the rest of the test. */
const PAUSE_MS = 10;
/** Within which the others go on, whatever one server does: an election, and its loss noticed. */
const GOES_ON_WITHIN_MS = 180_000;
/** Longer than an acknowledgement may take, so that what a fault has swallowed is delivered again. */
const DELIVERED_WITHIN_MS = 60_000;
const STEP_DOWNS = 5;

let cluster: PartableCluster;
let streams = 0;

async function openBuffer(streamPrefix: string): Promise<EventBuffer> {
  const { url, servers } = cluster;
  const { log } = collectingLog();
  const settings = {
    url,
    monitorUrl: servers[0]?.monitorUrl,
    creds: undefined,
    streamPrefix,
    replicas: 3,
    bytesMax: 2 ** 28,
  };
  const buffer = createJetStreamBuffer({ settings, identity: async () => 'test', log });
  await buffer.start();
  return buffer;
}

/** Writers that remember what was acknowledged, and a reader that acknowledges all it gets. */
function work(buffer: EventBuffer) {
  const acknowledged = new Set<string>();
  /** Where in the stream each text stands: in one place, or the server has doubled it. */
  const places = new Map<string, Set<number>>();
  let writing = true;
  let reading = true;
  const write = async (writer: number): Promise<void> => {
    for (let index = 0; writing; index++) {
      const text = `${writer} ${index}`;
      await buffer.append(new TextEncoder().encode(text)).then(
        () => acknowledged.add(text),
        () => Bun.sleep(20),
      );
      await Bun.sleep(PAUSE_MS);
    }
  };
  const take = (delivery: Delivery): void => {
    const text = new TextDecoder().decode(delivery.pack);
    places.set(text, (places.get(text) ?? new Set()).add(placeOf(delivery)));
  };
  const read = async (): Promise<void> => {
    while (reading) {
      try {
        const some = await buffer.fetch({ bytesMax: 65_536, packsMax: 32, waitMs: 200 });
        some.forEach(take);
        await buffer.acknowledge(some);
      } catch {
        await Bun.sleep(100);
      }
    }
  };
  const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer));
  const reader = read();
  return {
    acknowledged,
    undelivered: () => [...acknowledged].filter((text) => !places.has(text)),
    doubled: () => [...places].filter(([, all]) => all.size > 1).map(([text]) => text),
    /** Writers whose acknowledged texts do not stand in the order in which they were written. */
    disordered: () =>
      Array.from({ length: WRITERS }, (_, writer) => writer).filter((writer) => {
        const own = [...places]
          .filter(([text]) => acknowledged.has(text))
          .map(([text, all]) => ({ number: text.split(' ').map(Number), place: Math.min(...all) }))
          .filter(({ number }) => number[0] === writer)
          .sort((a, b) => (a.number[1] ?? 0) - (b.number[1] ?? 0));
        return own.some(({ place }, index) => place < (own[index - 1]?.place ?? 0));
      }),
    async stopWriting() {
      writing = false;
      await Promise.all(writers);
    },
    async stopReading() {
      reading = false;
      await reader;
    },
  };
}

/** Its sequence in the stream: `$JS.ACK.<stream>.<consumer>.<times delivered>.<sequence>.…`, NATS ADR-15. */
const placeOf = ({ receipt }: Delivery): number => Number(String(receipt).split('.')[5]);

type Administration = {
  /** Every server has its copy, as far as the leader's: the next one may be away. */
  allCurrent(): Promise<void>;
  /** The server that leads the stream. */
  leader(): Promise<number>;
  /** The leader of the stream, or of its consumer, lays its office down; `to`: in favour of this server. */
  stepDown(of: 'STREAM' | 'CONSUMER', to?: number): Promise<void>;
};

/** The server that decides where streams and consumers are made lays its office down. */
async function stepDownMetadataLeader(): Promise<void> {
  const connection = await connect({ servers: cluster.servers.map(({ url }) => url), ...cluster.system });
  try {
    const answer = await connection.request('$JS.API.META.LEADER.STEPDOWN', '', { timeout: 30_000 });
    const { success, error } = answer.json<{ success?: boolean; error?: { description: string } }>();
    if (success !== true) throw new Error(`the leader of the metadata stays: ${error?.description}`);
  } finally {
    await connection.close();
  }
}

function administer(connection: NatsConnection, stream: string): Administration {
  return {
    async allCurrent() {
      await eventually('every copy to be current', async () => {
        const info = await connection
          .jetstreamManager()
          .then(({ streams: all }) => all.info(stream))
          .catch(() => undefined);
        const { leader = '', replicas = [] } = info?.cluster ?? {};
        return (
          leader !== '' &&
          replicas.length === 2 &&
          replicas.every(({ current, offline }) => current && !offline)
        );
      });
    },
    async leader() {
      const { streams: all } = await connection.jetstreamManager();
      return Number((await all.info(stream)).cluster?.leader?.split('-')[1]);
    },
    async stepDown(of, to) {
      const name = of === 'STREAM' ? stream : `${stream}.sink`;
      const body = to === undefined ? '' : JSON.stringify({ placement: { preferred: `server-${to}` } });
      await connection.request(`$JS.API.${of}.LEADER.STEPDOWN.${name}`, body, { timeout: 30_000 });
    },
  };
}

type Fault = {
  name: string;
  strike(next: () => Promise<unknown>, administration: Administration): Promise<void>;
};

/** The server that the service is connected to leads the stream, and is parted from the others. */
const parted = (clients: boolean) => async (next: () => Promise<unknown>, administration: Administration) => {
  const [used = -1] = cluster.inUse();
  await eventually('the server that is used to lead', async () => {
    if ((await administration.leader()) === used) return true;
    await administration.stepDown('STREAM', used);
    await Bun.sleep(100);
    return false;
  });
  await next();
  cluster.part(used, { clients });
  await next();
  cluster.heal();
};

const FAULTS: readonly Fault[] = [
  {
    name: 'each server is killed and started again',
    async strike(next, { allCurrent }) {
      for (const server of cluster.servers) {
        await server.kill();
        await next();
        await server.start();
        await next();
        await allCurrent();
      }
    },
  },
  {
    name: 'each server is stopped, and goes on',
    async strike(next, { allCurrent }) {
      for (const server of cluster.servers) {
        server.pause();
        await next();
        server.resume();
        await next();
        await allCurrent();
      }
    },
  },
  {
    name: 'the leaders of the stream and of its consumer step down again and again',
    async strike(next, { stepDown }) {
      for (let round = 0; round < STEP_DOWNS; round++) {
        await stepDown('STREAM');
        await next();
        await stepDown('CONSUMER');
        await next();
      }
    },
  },
  {
    name: 'the leader of the metadata steps down again and again',
    async strike(next) {
      for (let round = 0; round < STEP_DOWNS; round++) {
        await stepDownMetadataLeader();
        await next();
      }
    },
  },
  { name: 'the leader is parted from the other servers, not from the service', strike: parted(false) },
  { name: 'the leader is parted from the other servers and the service', strike: parted(true) },
];

const missing = missingNats();
describe.skipIf(missing !== undefined)(`a cluster${missing === undefined ? '' : ` (${missing})`}`, () => {
  beforeAll(async () => {
    cluster = await startPartableCluster();
  });
  afterAll(() => cluster.stop());

  for (const { name, strike } of FAULTS) {
    test(`delivers all that it acknowledged, once and in order, while ${name}`, async () => {
      const prefix = `TEST_${++streams}`;
      const buffer = await openBuffer(prefix);
      const connection = await connect({ servers: cluster.servers.map(({ url }) => url) });
      const { acknowledged, undelivered, doubled, disordered, stopWriting, stopReading } = work(buffer);
      const someMore = (): Promise<unknown> => {
        const until = acknowledged.size + STEP;
        return eventually('more appends', () => acknowledged.size >= until, GOES_ON_WITHIN_MS);
      };
      try {
        await someMore();
        await strike(someMore, administer(connection, `${prefix}_EVENTS`));
        await someMore();
        await stopWriting();
        const isDelivered = () => undelivered().length === 0;
        await eventually('everything to be delivered', isDelivered, DELIVERED_WITHIN_MS).catch(
          () => undefined,
        );
        expect({ undelivered: undelivered(), doubled: doubled(), disordered: disordered() }).toEqual({
          undelivered: [],
          doubled: [],
          disordered: [],
        });
        const isEmpty = async () => {
          // Where the server of the connection was struck, it may be reconnecting.
          const metrics = await buffer.metrics().catch(() => undefined);
          return metrics?.packs === 0;
        };
        await eventually('the stream to be empty', isEmpty);
      } finally {
        cluster.heal();
        await stopWriting();
        await stopReading();
        await connection.close();
        await buffer.close();
      }
    });
  }

  test('makes its stream and its consumer while the leader of the metadata steps down', async () => {
    for (let round = 0; round < STEP_DOWNS; round++) {
      const [buffer] = await Promise.all([openBuffer(`TEST_${++streams}`), stepDownMetadataLeader()]);
      try {
        const isAppended = () =>
          buffer.append(new TextEncoder().encode(`round ${round}`)).then(
            () => true,
            () => false,
          );
        await eventually('an append', isAppended, GOES_ON_WITHIN_MS);
        const texts = await eventually('its delivery', async () => {
          const some = await buffer.fetch({ bytesMax: 65_536, packsMax: 32, waitMs: 200 }).catch(() => []);
          return some.length > 0 && some.map(({ pack }) => new TextDecoder().decode(pack));
        });
        expect(new Set(texts)).toEqual(new Set([`round ${round}`]));
      } finally {
        await buffer.close();
      }
    }
  });

  test('does not refuse to start while a server that came back is not counted as there yet', async () => {
    for (const server of cluster.servers) {
      await server.kill('SIGTERM');
      await server.start();
      const buffer = await openBuffer(`TEST_${++streams}`);
      const append = () =>
        buffer.append(new Uint8Array(10)).then(
          () => true,
          () => false,
        );
      await eventually('an append', append, GOES_ON_WITHIN_MS);
      await buffer.close();
    }
  });
});
