// The kinds of faults, each with what it can strike and how it is undone. They know the parts, and nothing of clients.

import type { FaultyDisk } from '../../support/faulty-disk.ts';
import type { Direction, TcpProxy } from '../../support/tcp-proxy.ts';
import { MODEL_FAULTS } from './parts/models.ts';
import type { Part } from './parts/part.ts';
import type { PlannedFault, PlannedParts } from './planned.ts';
import type { Site } from './site.ts';

/** Ends the fault. */
type Undo = () => void | Promise<void>;

type Fault = {
  /** How many lots it has. */
  weight: number;
  forMs: { from: number; to: number };
  targets(parts: PlannedParts): string[];
  /** Resolves once the fault is there; its `undo` is called after the planned time, or when all is to be well again. */
  inject(site: Site, fault: PlannedFault): Undo | Promise<Undo>;
};

/** Processes that are no children of the service's owner. */
const partsOf = ({ buffer, store }: PlannedParts): string[] => [
  'database',
  ...(buffer === 'nats' ? ['nats'] : []),
  ...(store === 'embedded' ? [] : ['store']),
];
/** Reached over a proxy, and keep what the service stores. */
const storesOf = (parts: PlannedParts): string[] =>
  partsOf(parts).filter((name) => name !== 'database' || parts.database === 'server');
/** Reached over a proxy. */
const linksOf = (parts: PlannedParts): string[] => [...storesOf(parts), 'models'];
const directed = (parts: PlannedParts): string[] =>
  linksOf(parts).flatMap((name) => [name, `${name} up`, `${name} down`]);
const oneOfSeveral = ({ processes }: PlannedParts): string[] => (processes > 1 ? ['process'] : []);

const onFaultyDisk = ({ disk }: PlannedParts): string[] => (disk === 'faulty' ? ['disk'] : []);
/** Whose files are struck. */
const folderOf = (chance: number): string => {
  const folders = ['**', 'data/postgres/**', 'data/object-store/**', 'data/events/**'];
  return folders[Math.floor(chance * 97) % folders.length] ?? '**';
};

const partOf = ({ parts }: Site, { target }: PlannedFault): Part => {
  const part = parts[target as keyof Site['parts']];
  if (part === undefined) throw new Error(`there is no ${target}`);
  return part;
};
const linkOf = ({ links }: Site, { target }: PlannedFault) => {
  const [name = '', direction] = target.split(' ') as [string, Direction | undefined];
  const proxy = links[name as keyof Site['links']];
  if (proxy === undefined) throw new Error(`there is no link to ${name}`);
  return { proxy, direction };
};
/** With the disk that there is; one that was replaced meanwhile has taken its faults with it. */
async function withDisk(site: Site, use: (disk: FaultyDisk) => Promise<void>): Promise<void> {
  const disk = site.faultyDisk();
  if (disk === undefined) return;
  await use(disk).catch((error) => {
    if (site.faultyDisk() === disk) throw error;
  });
}

type Row = Omit<Fault, 'inject'>;

const onPart = (row: Row, strike: (part: Part) => Undo | Promise<Undo>): Fault => ({
  ...row,
  inject: async (site, fault) => strike(partOf(site, fault)),
});
/** What holds until the link is healed. */
const onLink = (
  row: Omit<Row, 'targets'>,
  strike: (proxy: TcpProxy, fault: { direction: Direction | undefined; chance: number }) => void,
): Fault => ({
  ...row,
  targets: directed,
  inject(site, fault) {
    const { proxy, direction } = linkOf(site, fault);
    strike(proxy, { direction, chance: fault.chance });
    return proxy.heal;
  },
});
const onDisk = (
  row: Omit<Row, 'targets'>,
  strike: (disk: FaultyDisk, chance: number) => Promise<void>,
): Fault => ({
  ...row,
  targets: onFaultyDisk,
  async inject(site, { chance }) {
    await withDisk(site, (disk) => strike(disk, chance));
    return () => withDisk(site, (disk) => disk.clear());
  },
});

/** What the answer is lost to: anything that may change something, or the commit itself. */
const LOST_REQUESTS: Record<string, readonly RegExp[]> = {
  database: [/commit/i, /insert|update|delete|chat_/i],
  nats: [/^PUB|\bPUB\b|HPUB/, /\bREQ|\$JS\.API|ACK/],
  store: [/^(PUT|POST|DELETE)/, /^x-amz-copy-source:/im],
};

const NOTHING: Undo = () => undefined;

export const FAULTS = {
  kill: onPart(
    {
      weight: 6,
      forMs: { from: 0, to: 500 },
      targets: (parts) => ['service', 'service', 'group', ...oneOfSeveral(parts), ...partsOf(parts)],
    },
    async (part) => {
      await part.kill();
      return part.start;
    },
  ),
  end: {
    weight: 2,
    forMs: { from: 0, to: 300 },
    targets: () => ['service'],
    async inject({ parts }) {
      await parts.service.end();
      return parts.service.start;
    },
  },
  pause: onPart(
    {
      weight: 4,
      forMs: { from: 50, to: 1500 },
      targets: (parts) => ['service', ...oneOfSeveral(parts), ...partsOf(parts)],
    },
    (part) => part.pause(),
  ),
  cut: onLink({ weight: 3, forMs: { from: 20, to: 1200 } }, (proxy, { direction }) => proxy.cut(direction)),
  stall: onLink({ weight: 3, forMs: { from: 100, to: 2000 } }, (proxy, { direction }) =>
    proxy.stall(direction),
  ),
  delay: onLink({ weight: 2, forMs: { from: 300, to: 1500 } }, (proxy, { direction, chance }) =>
    proxy.delay(Math.round(10 + chance * 150), direction),
  ),
  reset: {
    weight: 3,
    forMs: { from: 0, to: 0 },
    targets: linksOf,
    inject(site, fault) {
      linkOf(site, fault).proxy.reset();
      return NOTHING;
    },
  },
  'lose an answer of': {
    weight: 5,
    forMs: { from: 300, to: 1000 },
    targets: storesOf,
    inject(site, fault) {
      const requests = LOST_REQUESTS[fault.target] ?? [];
      const request = requests[Math.floor(fault.chance * requests.length)];
      const lost = linkOf(site, fault).proxy.loseNextAnswer(request);
      void lost.then(() => site.note(`answer of the ${fault.target} lost`));
      return NOTHING;
    },
  },
  fill: {
    weight: 6,
    forMs: { from: 100, to: 1500 },
    targets: ({ disk }) => (disk === 'small' ? ['disk'] : []),
    inject({ smallDisk }) {
      smallDisk?.fill();
      return () => smallDisk?.free();
    },
  },
  'cut the power of': {
    weight: 6,
    forMs: { from: 0, to: 300 },
    targets: onFaultyDisk,
    async inject({ cutPower, parts }, { chance }) {
      await cutPower(Math.floor(chance * 1000));
      return parts.service.start;
    },
  },
  'fail calls of': onDisk({ weight: 4, forMs: { from: 50, to: 800 } }, (disk, chance) =>
    disk.fail({
      calls: chance < 0.5 ? ['fsync'] : ['write', 'fsync', 'rename'],
      path: folderOf(chance),
      error: 'EIO',
      count: 1 + Math.floor(chance * 5),
    }),
  ),
  slow: onDisk({ weight: 2, forMs: { from: 200, to: 1500 } }, (disk, chance) =>
    disk.delay({ calls: ['fsync', 'write'], path: folderOf(chance), ms: 5 + Math.floor(chance * 60) }),
  ),
  hang: onDisk({ weight: 2, forMs: { from: 100, to: 1500 } }, (disk, chance) =>
    disk.hang({ calls: ['fsync', 'write'], path: folderOf(chance) }),
  ),
  'the upstream answers': {
    weight: 6,
    forMs: { from: 200, to: 1500 },
    targets: () => MODEL_FAULTS,
    async inject({ strikeModels }, { target }) {
      await strikeModels(target);
      return () => strikeModels(undefined);
    },
  },
  step: {
    weight: 6,
    forMs: { from: 100, to: 2000 },
    targets: (parts) => [
      ...(parts.steppedClock ? ['clock'] : []),
      ...(parts.steppedDatabaseClock ? ['database clock'] : []),
    ],
    inject({ clocks }, { target, chance }) {
      const clock = target === 'clock' ? clocks.service : clocks.database;
      // Up to a minute: servers with clocks of their own refuse signatures that are further from theirs.
      clock?.set(Math.round((chance - 0.5) * 120));
      return () => clock?.set(0);
    },
  },
} satisfies Record<string, Fault>;

export type FaultKind = keyof typeof FAULTS;

/** Lets each fault strike at its time and undoes it after its own; returns when all are over. */
export async function strike(site: Site, faults: readonly PlannedFault<FaultKind>[]): Promise<void> {
  await Promise.all(
    faults.map(async (fault) => {
      await Bun.sleep(fault.atMs);
      const undo = await FAULTS[fault.kind].inject(site, fault);
      site.note(`${fault.kind} ${fault.target}`);
      await Bun.sleep(fault.forMs);
      await undo();
    }),
  );
}
