// Writers and a reader of a JetStream cluster, and what its faults need to know of it.

import { expect, test } from 'bun:test';
import { connect, type NatsConnection } from 'nats';
import type { Delivery, EventBuffer } from '../../src/usage/buffer/event-buffer.ts';
import { JetStreamBuffer } from '../../src/usage/buffer/jetstream/index.ts';
import { CONSUMER } from '../../src/usage/buffer/jetstream/stream.ts';
import { eventually } from '../support/child.ts';
import type { NatsServer, PartableCluster } from '../support/nats-server.ts';
import { collectingLog } from './event-buffers.ts';

const WRITERS = 8;
/** Appends that must have been acknowledged between two faults. */
const STEP = 150;
/** Between two appends of a writer: while a server comes back, those of all writers cost more processor time than the rest of the test. */
const PAUSE_MS = 10;
/** Within which the others go on, whatever one server does: an election, and its loss noticed. */
export const GOES_ON_WITHIN_MS = 180_000;
/** Longer than an acknowledgement may take, so that what a fault has swallowed is delivered again. */
const DELIVERED_WITHIN_MS = 60_000;

export type ClusterFault = {
  name: string;
  /** Why it cannot be tried here. */
  missing?: string | undefined;
  /** The reader waits until it is over, so that the servers alone have what was acknowledged meanwhile. */
  unread?: boolean;
  /** `next` resolves when more was acknowledged. */
  strike(next: () => Promise<unknown>, administration: Administration): Promise<void>;
};

export type Administration = {
  /** Every server has its copy of the stream and of its consumer, as far as the leader's: the next one may be away. */
  allCurrent(): Promise<void>;
  /** The server that leads the stream; throws while none does. */
  leader(): Promise<number>;
  /** The leader of the stream, or of its consumer, lays its office down; `to`: in favour of this server. */
  stepDown(of: 'STREAM' | 'CONSUMER', to?: number): Promise<void>;
};

let streams = 0;
export const newStreamPrefix = (): string => `TEST_${++streams}`;

export async function openBuffer(
  { url, servers }: PartableCluster,
  streamPrefix: string,
): Promise<EventBuffer> {
  const { log } = collectingLog();
  const settings = {
    url,
    monitorUrl: servers[0]?.monitorUrl,
    creds: undefined,
    streamPrefix,
    replicas: 3,
    bytesMax: 2 ** 28,
  };
  const buffer = new JetStreamBuffer({ settings, identity: async () => 'test', log });
  await buffer.start();
  return buffer;
}

/** One test for each fault: what was acknowledged is delivered, once and in order, while it strikes under load. */
export function testClusterFaults(cluster: () => PartableCluster, faults: readonly ClusterFault[]): void {
  for (const { name, missing, unread = false, strike } of faults) {
    const title = `delivers all that it acknowledged, once and in order, while ${name}`;
    test.skipIf(missing !== undefined)(missing === undefined ? title : `${title} (${missing})`, async () => {
      const prefix = newStreamPrefix();
      const buffer = await openBuffer(cluster(), prefix);
      const connection = await connect({ servers: cluster().servers.map(({ url }) => url) });
      const { acknowledged, undelivered, doubled, disordered, stopWriting, startReading, stopReading } =
        work(buffer);
      const someMore = (): Promise<unknown> => {
        const until = acknowledged.size + STEP;
        return eventually('more appends', () => acknowledged.size >= until, GOES_ON_WITHIN_MS);
      };
      try {
        if (!unread) startReading();
        await someMore();
        await strike(someMore, administer(connection, `${prefix}_EVENTS`, cluster().servers));
        startReading();
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
        cluster().heal();
        await stopWriting();
        await stopReading();
        await connection.close();
        await buffer.close();
      }
    });
  }
}

/** Writers that remember what was acknowledged, and a reader that acknowledges all it gets, once it was started. */
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
  let reader: Promise<void> | undefined;
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
    startReading() {
      reader ??= read();
    },
    async stopReading() {
      reading = false;
      await reader;
    },
  };
}

/** Its sequence in the stream: `$JS.ACK.<stream>.<consumer>.<times delivered>.<sequence>.…`, NATS ADR-15. */
const placeOf = ({ receipt }: Delivery): number => Number(String(receipt).split('.')[5]);

/** What the server itself says of its copies: of the metadata, and of every stream and consumer. */
const isHealthy = ({ monitorUrl }: NatsServer): Promise<boolean> =>
  fetch(`${monitorUrl}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );

function administer(
  connection: NatsConnection,
  stream: string,
  servers: PartableCluster['servers'],
): Administration {
  return {
    async allCurrent() {
      await eventually('every copy to be current', async () => {
        const manager = await connection.jetstreamManager().catch(() => undefined);
        const found = await Promise.all([
          manager?.streams.info(stream).catch(() => undefined),
          manager?.consumers.info(stream, CONSUMER).catch(() => undefined),
        ]);
        const isCurrent = found.every((info) => {
          const { leader = '', replicas = [] } = info?.cluster ?? {};
          const others = replicas.filter(({ current, offline }) => current && !offline);
          return leader !== '' && replicas.length === 2 && others.length === 2;
        });
        return isCurrent && (await Promise.all(servers.map(isHealthy))).every(Boolean);
      });
    },
    async leader() {
      const { streams: all } = await connection.jetstreamManager();
      return Number((await all.info(stream)).cluster?.leader?.split('-')[1]);
    },
    async stepDown(of, to) {
      const name = of === 'STREAM' ? stream : `${stream}.${CONSUMER}`;
      const body = to === undefined ? '' : JSON.stringify({ placement: { preferred: `server-${to}` } });
      await connection.request(`$JS.API.${of}.LEADER.STEPDOWN.${name}`, body, { timeout: 30_000 });
    },
  };
}
