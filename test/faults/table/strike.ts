// How each fault of the table strikes, and how it ends.

import type { FaultyDisk } from '../../support/faulty-disk.ts';
import type { Part } from '../seeds/parts/part.ts';
import type { Site } from '../seeds/site.ts';
import type { Fault, Service } from './cells.ts';
import type { TableSite } from './site.ts';

/** Ends the fault; resolves when the server is there again. */
type Undo = () => Promise<void> | void;
type Strike = (on: TableSite) => Promise<Undo> | Undo;

const SLOW_MS = 2000;
const AGAIN_MS = 100;
/** An error of the disk that each write and sync meets. */
const FAILING = { calls: ['write', 'fsync', 'rename'], error: 'EIO' } as const;

/** The service is ended, and started while `begin` holds; it may not serve before that is over. */
async function startUnder({ parts }: Site, begin: () => Promise<Undo> | Undo): Promise<Undo> {
  await parts.service.end();
  const undo = await begin();
  const started = parts.service.start();
  // It may fail at first, and is started again; the returned function waits for it, and throws its last error.
  started.catch(() => undefined);
  return async () => {
    await undo();
    await started;
  };
}

/** Again and again, until the returned function is called. */
function repeatedly(run: () => Promise<unknown> | unknown): () => void {
  let isOver = false;
  void (async () => {
    while (!isOver) {
      await run();
      await Bun.sleep(AGAIN_MS);
    }
  })();
  return () => {
    isOver = true;
  };
}

const killed = async ({ kill, start }: Part): Promise<Undo> => {
  await kill();
  return start;
};

const onServer =
  (strike: (server: NonNullable<TableSite['server']>, on: TableSite) => Promise<Undo> | Undo): Strike =>
  (on) => {
    if (on.server === undefined) throw new Error('the cell has no server');
    return strike(on.server, on);
  };

const linkOf = ({ link }: NonNullable<TableSite['server']>) => {
  if (link === undefined) throw new Error('the server has no proxy');
  return link;
};

const ON_SERVERS: Record<Fault, Strike> = {
  'down-at-start': onServer(({ part }, { site }) => startUnder(site, () => killed(part))),
  killed: onServer(({ part }) => killed(part)),
  stopped: onServer(({ part }) => part.pause()),
  slow: onServer((server) => {
    linkOf(server).delay(SLOW_MS, 'down');
    return linkOf(server).heal;
  }),
  refuses: onServer((server) => {
    linkOf(server).cut();
    return linkOf(server).heal;
  }),
  resets: onServer((server) => {
    const link = linkOf(server);
    const stop = repeatedly(() => void link.loseNextAnswer());
    return () => {
      stop();
      link.heal();
    };
  }),
  full: onServer((_server, { disk }) => {
    if (disk === undefined) throw new Error('the server has no disk of its own');
    // What comes free meanwhile is filled again.
    const stop = repeatedly(disk.fill);
    return () => {
      stop();
      disk.free();
    };
  }),
  empty: onServer(async ({ part }, { wipe }) => {
    await part.kill();
    wipe();
    return part.start;
  }),
};

const onDisk =
  (strike: (disk: FaultyDisk) => Promise<void>): Strike =>
  async ({ site }) => {
    const disk = faultyDiskOf(site);
    await strike(disk);
    return () => disk.clear();
  };

function faultyDiskOf(site: Site): FaultyDisk {
  const disk = site.faultyDisk();
  if (disk === undefined) throw new Error('the cell has no faulty disk');
  return disk;
}

const ON_THE_DISK: Partial<Record<Fault, Strike>> = {
  'down-at-start': ({ site }) =>
    startUnder(site, async () => {
      const disk = faultyDiskOf(site);
      await disk.readOnly();
      return () => disk.clear();
    }),
  async killed({ site }) {
    await site.cutPower(0);
    return site.parts.service.start;
  },
  stopped: onDisk((disk) => disk.hang({ calls: ['fsync', 'write'] })),
  slow: onDisk((disk) => disk.delay({ calls: ['fsync'], ms: SLOW_MS })),
  refuses: onDisk((disk) => disk.fail(FAILING)),
  full({ site: { smallDisk } }) {
    if (smallDisk === undefined) throw new Error('the cell has no small disk');
    const stop = repeatedly(smallDisk.fill);
    return () => {
      stop();
      smallDisk.free();
    };
  },
};

const ON_THE_UPSTREAM: Partial<Record<Fault, Strike>> = Object.fromEntries(
  Object.entries({ resets: 'die-mid', full: 'status-429' }).map(([fault, asked]) => [
    fault,
    async ({ site }: TableSite) => {
      await site.strikeModels(asked);
      return () => site.strikeModels(undefined);
    },
  ]),
);

/** This server takes nothing more before it is started again, also once its disk has room. */
const ON_NATS: Partial<Record<Fault, Strike>> = {
  async full(on) {
    const undo = await ON_SERVERS.full(on);
    return async () => {
      await undo();
      await on.server?.part.kill();
      await on.server?.part.start();
    };
  },
};

const OF_SERVICES: Partial<Record<Service, Partial<Record<Fault, Strike>>>> = {
  disk: ON_THE_DISK,
  upstream: ON_THE_UPSTREAM,
  nats: ON_NATS,
};

export function strike(service: Service, fault: Fault, on: TableSite): Promise<Undo> | Undo {
  const own = OF_SERVICES[service]?.[fault];
  if (own === undefined && service === 'disk') throw new Error(`the disk has no fault ${fault}`);
  return (own ?? ON_SERVERS[fault])(on);
}
