// JetStream as a cluster of three servers that sync before they acknowledge: what was acknowledged is delivered, once and
// in order, when all servers are lost at once, and when one of them loses or damages its store.

import { afterAll, beforeAll, describe } from 'bun:test';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type FaultyDisk, missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';
import { freshFolder } from '../support/folders.ts';
import { missingNats, type PartableCluster, startPartableCluster } from '../support/nats-server.ts';
import { type Administration, type ClusterFault, testClusterFaults } from './cluster-work.ts';

const SERVERS = ['server-0', 'server-1', 'server-2'];
/** Damage is done to a byte in so many. */
const DAMAGE_EVERY = 512;

const missingDisk = missingFaultyDisk();

let disk: FaultyDisk | undefined;
let stores: readonly string[] = [];
let cluster: PartableCluster;

/** Each server keeps its data below a link, which a start after a loss of power finds elsewhere. */
function linkStores(folder: string): void {
  for (const [index, link] of stores.entries()) {
    unlinkSync(link);
    symlinkSync(join(folder, SERVERS[index] ?? ''), link);
  }
}

async function openStores(): Promise<void> {
  disk = missingDisk === undefined ? await mountFaultyDisk({ namesWithFiles: '**' }) : undefined;
  const folder = disk?.path ?? freshFolder();
  const links = freshFolder();
  stores = SERVERS.map((name) => {
    mkdirSync(join(folder, name));
    symlinkSync(join(folder, name), join(links, name));
    return join(links, name);
  });
}

const everywhere = (work: (server: PartableCluster['servers'][number]) => unknown): Promise<unknown> =>
  Promise.all(cluster.servers.map(work));

/** Files of blocks: of messages, and of the logs of Raft for the stream, its consumer and the metadata. */
const blocksOf = (store: string): string[] =>
  readdirSync(store, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.blk'))
    .map((path) => join(store, path));

/** Each server in turn comes back with a store to which `damage` was done. */
const damaged =
  (damage: (store: string) => void) =>
  async (next: () => Promise<unknown>, { allCurrent }: Administration): Promise<void> => {
    for (const [index, server] of cluster.servers.entries()) {
      await server.kill();
      damage(stores[index] ?? '');
      await next();
      await server.start();
      await next();
      await allCurrent();
    }
  };

const FAULTS: readonly ClusterFault[] = [
  {
    name: 'all servers are killed at once and started again',
    unread: true,
    async strike(next) {
      await everywhere(({ kill }) => kill());
      await everywhere(({ start }) => start());
      await next();
    },
  },
  {
    name: 'all servers lose their power at once',
    missing: missingDisk,
    unread: true,
    async strike(next) {
      // From here on nothing is acknowledged; what was is on the disk.
      for (const server of cluster.servers) server.pause();
      const found = await disk?.survivor();
      await everywhere(({ kill }) => kill());
      linkStores(found ?? '');
      await everywhere(({ start }) => start());
      await next();
    },
  },
  {
    name: 'each server comes back with an empty store',
    unread: true,
    strike: damaged((store) => {
      for (const name of readdirSync(store)) rmSync(join(store, name), { recursive: true });
    }),
  },
  {
    name: 'each server comes back with half of each of its files',
    unread: true,
    strike: damaged((store) => {
      for (const path of blocksOf(store)) {
        const bytes = readFileSync(path);
        writeFileSync(path, bytes.subarray(0, bytes.length / 2));
      }
    }),
  },
  {
    name: 'each server comes back with bytes of its files changed',
    unread: true,
    strike: damaged((store) => {
      for (const path of blocksOf(store)) {
        const bytes = readFileSync(path);
        for (let at = DAMAGE_EVERY / 2; at < bytes.length; at += DAMAGE_EVERY) bytes[at] = ~(bytes[at] ?? 0);
        writeFileSync(path, bytes);
      }
    }),
  },
];

const missing = missingNats();
describe.skipIf(missing !== undefined)(`a cluster${missing === undefined ? '' : ` (${missing})`}`, () => {
  beforeAll(async () => {
    await openStores();
    cluster = await startPartableCluster({ stores });
  });
  afterAll(async () => {
    await cluster.stop();
    await disk?.[Symbol.asyncDispose]();
  });

  testClusterFaults(() => cluster, FAULTS);
});
