// JetStream as a cluster of three servers with three copies: what was acknowledged is delivered, once and in order,
// whatever happens to one server after the other, to the leaders, or to the network between them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'nats';
import { eventually } from '../support/child.ts';
import { missingNats, type PartableCluster, startPartableCluster } from '../support/nats-server.ts';
import {
  type Administration,
  type ClusterFault,
  GOES_ON_WITHIN_MS,
  newStreamPrefix,
  openBuffer,
  testClusterFaults,
} from './cluster-work.ts';

const STEP_DOWNS = 5;

let cluster: PartableCluster;

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

/** The server that the service is connected to leads the stream, or follows, and is parted from the others. */
const parted =
  (options: { leads: boolean; clients: boolean }) =>
  async (next: () => Promise<unknown>, { leader, stepDown }: Administration): Promise<void> => {
    const [used = -1] = cluster.inUse();
    const other = (used + 1) % cluster.servers.length;
    await eventually(`the server that is used to ${options.leads ? 'lead' : 'follow'}`, async () => {
      if (((await leader()) === used) === options.leads) return true;
      await stepDown('STREAM', options.leads ? used : other);
      return false;
    });
    await next();
    cluster.part(used, options);
    await next();
    cluster.heal();
  };

const FAULTS: readonly ClusterFault[] = [
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
  {
    name: 'the leader is parted from the other servers, not from the service',
    strike: parted({ leads: true, clients: false }),
  },
  {
    name: 'the leader is parted from the other servers and the service',
    strike: parted({ leads: true, clients: true }),
  },
  {
    name: 'a follower is parted from the other servers, not from the service',
    strike: parted({ leads: false, clients: false }),
  },
  {
    name: 'a follower is parted from the other servers and the service',
    strike: parted({ leads: false, clients: true }),
  },
];

const missing = missingNats();
describe.skipIf(missing !== undefined)(`a cluster${missing === undefined ? '' : ` (${missing})`}`, () => {
  beforeAll(async () => {
    cluster = await startPartableCluster();
  });
  afterAll(() => cluster.stop());

  testClusterFaults(() => cluster, FAULTS);

  test('makes its stream and its consumer while the leader of the metadata steps down', async () => {
    for (let round = 0; round < STEP_DOWNS; round++) {
      const [buffer] = await Promise.all([openBuffer(cluster, newStreamPrefix()), stepDownMetadataLeader()]);
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
      const buffer = await openBuffer(cluster, newStreamPrefix());
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
