// JetStream as a cluster of three servers with three copies: what was acknowledged is delivered, whatever happens to
// one server after the other.

import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { EventBuffer } from '../../src/usage/buffer/event-buffer.ts';
import { createJetStreamBuffer } from '../../src/usage/buffer/jetstream/index.ts';
import { eventually } from '../support/child.ts';
import { missingNats, type NatsCluster, type NatsServer, startNatsCluster } from '../support/nats-server.ts';
import { collectingLog } from './event-buffers.ts';

setDefaultTimeout(180_000);

const WRITERS = 8;
/** Appends that must have been acknowledged between two faults. */
const STEP = 150;
/** Longer than an acknowledgement may take, so that what a fault has swallowed is delivered again. */
const DELIVERED_WITHIN_MS = 60_000;

async function openBuffer({ url, servers }: NatsCluster): Promise<EventBuffer> {
  const { log } = collectingLog();
  const monitorUrl = servers[0]?.monitorUrl;
  const settings = {
    url,
    monitorUrl,
    creds: undefined,
    streamPrefix: 'TEST',
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
  const delivered = new Set<string>();
  let writing = true;
  let reading = true;
  const write = async (writer: number): Promise<void> => {
    for (let index = 0; writing; index++) {
      const text = `${writer} ${index}`;
      await buffer.append(new TextEncoder().encode(text)).then(
        () => acknowledged.add(text),
        () => Bun.sleep(20),
      );
    }
  };
  const read = async (): Promise<void> => {
    while (reading) {
      try {
        const some = await buffer.fetch({ bytesMax: 65_536, packsMax: 32, waitMs: 200 });
        for (const { pack } of some) delivered.add(new TextDecoder().decode(pack));
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
    undelivered: () => [...acknowledged].filter((text) => !delivered.has(text)),
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

type Fault = { name: string; strike(server: NatsServer, next: () => Promise<unknown>): Promise<void> };

const FAULTS: readonly Fault[] = [
  {
    name: 'killed and started again',
    async strike(server, next) {
      await server.kill();
      await next();
      await server.start();
    },
  },
  {
    name: 'stopped, and let go on',
    async strike(server, next) {
      server.pause();
      await next();
      server.resume();
    },
  },
];

const missing = missingNats();
describe.skipIf(missing !== undefined)(`a cluster${missing === undefined ? '' : ` (${missing})`}`, () => {
  for (const { name, strike } of FAULTS) {
    test(`delivers all that it acknowledged while each server is ${name}`, async () => {
      await using cluster = await startNatsCluster();
      const buffer = await openBuffer(cluster);
      const { acknowledged, undelivered, stopWriting, stopReading } = work(buffer);
      const someMore = (): Promise<unknown> => {
        const until = acknowledged.size + STEP;
        return eventually('more appends', () => acknowledged.size >= until, 60_000);
      };
      try {
        await someMore();
        for (const server of cluster.servers) {
          await strike(server, someMore);
          await someMore();
        }
        await stopWriting();
        await eventually(
          'everything to be delivered',
          () => undelivered().length === 0,
          DELIVERED_WITHIN_MS,
        ).catch(() => undefined);
        expect({ acknowledged: acknowledged.size, undelivered: undelivered().length }).toEqual({
          acknowledged: acknowledged.size,
          undelivered: 0,
        });
        await eventually('the stream to be empty', async () => (await buffer.figures()).packs === 0);
      } finally {
        await stopWriting();
        await stopReading();
        await buffer.close();
      }
    });
  }
});
