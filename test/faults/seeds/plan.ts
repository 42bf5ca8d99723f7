// What happens under a seed: which parts the service stands on, who works with it, and which faults strike when. Everything
// is decided here, before anything is started, so that a seed means the same whenever it runs.

import { createRandom, type Random } from '../support/random.ts';
import { FAULTS, type FaultKind } from './faults.ts';
import type { Available, PlannedFault, PlannedParts } from './planned.ts';

export const CLIENT_KINDS = [
  ...(['documents', 'events', 'reader', 'models', 'chat', 'bots', 'keys'] as const),
  ...(['portal', 'knowledge'] as const),
] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

export type Plan = {
  seed: number;
  parts: PlannedParts;
  clients: { kind: ClientKind; seed: number }[];
  loadMs: number;
  faults: PlannedFault<FaultKind>[];
  /** The database hangs once more, after keys were revoked. */
  outageAfterRevocations: boolean;
};

const LOAD_MS = { from: 1500, to: 3000 };
const FAULTS_COUNT = { from: 2, to: 6 };
const CLIENT_COUNTS: Record<ClientKind, number> = {
  documents: 2,
  events: 2,
  reader: 1,
  models: 2,
  chat: 2,
  bots: 1,
  keys: 1,
  portal: 1,
  knowledge: 1,
};

export function planOf(seed: number, available: Available): Plan {
  const random = createRandom(seed);
  // The first values of neighbouring seeds are alike.
  for (let skipped = 0; skipped < 8; skipped++) random.below(2);
  const parts = planParts(random, available);
  const clients = CLIENT_KINDS.flatMap((kind) =>
    Array.from({ length: CLIENT_COUNTS[kind] }, () => ({ kind, seed: random.below(2 ** 31) })),
  );
  const loadMs = random.between(LOAD_MS);
  const kinds = chooseKinds(random, parts);
  const faults = Array.from({ length: random.between(FAULTS_COUNT) }, () =>
    planFault(random, { parts, kinds, loadMs }),
  );
  faults.sort((one, other) => one.atMs - other.atMs);
  return { seed, parts, clients, loadMs, faults, outageAfterRevocations: random.chance(0.25) };
}

function planParts(random: Random, available: Available): PlannedParts {
  const lot = (): number => random.below(100);
  const [processes, database, buffer, store] = [lot(), lot(), lot(), lot()];
  const stores = (['minio', 'versitygw'] as const).filter((name) => available[name]);
  const parts: PlannedParts = {
    processes: processes < 60 ? 1 : processes < 85 ? 2 : 3,
    database: database < 45 ? 'embedded' : 'server',
    buffer: available.nats && buffer < 30 ? 'nats' : 'journal',
    store: store < 65 ? 'embedded' : (stores[store % Math.max(1, stores.length)] ?? 'embedded'),
    disk: planDisk(lot(), available),
    steppedClock: available.clock && lot() < 20,
    steppedDatabaseClock: available.clock && lot() < 30 && database >= 45,
    olderCopy: false,
  };
  // A copy of the folder is whole where everything is in it.
  const isWhole = parts.database === 'embedded' && parts.store === 'embedded' && parts.buffer === 'journal';
  return { ...parts, olderCopy: lot() < 40 && isWhole && parts.disk === 'plain' };
}

function planDisk(lot: number, { smallDisk, faultyDisk }: Available): PlannedParts['disk'] {
  if (smallDisk && lot < 18) return 'small';
  return faultyDisk && lot < 40 ? 'faulty' : 'plain';
}

/** Some of those that are possible: what a few kinds do to one another shows where many would hide it (swarm testing). */
function chooseKinds(random: Random, parts: PlannedParts): FaultKind[] {
  const possible = (Object.keys(FAULTS) as FaultKind[]).filter(
    (kind) => FAULTS[kind].targets(parts).length > 0,
  );
  const chosen = possible.filter(() => random.chance(0.5));
  return chosen.length > 0 ? chosen : possible;
}

type Frame = { parts: PlannedParts; kinds: readonly FaultKind[]; loadMs: number };

function planFault(random: Random, { parts, kinds, loadMs }: Frame): PlannedFault<FaultKind> {
  const lots = kinds.flatMap((kind) => Array.from({ length: FAULTS[kind].weight }, () => kind));
  const kind = random.pick(lots) ?? 'kill';
  const target = random.pick(FAULTS[kind].targets(parts)) ?? 'service';
  const [atMs, forMs] = [random.below(loadMs), random.between(FAULTS[kind].forMs)];
  return { kind, target, atMs, forMs, chance: random.below(1000) / 1000 };
}

/** One line for the parts, one for each fault. */
export function renderPlan({ seed, parts, loadMs, faults }: Plan): string {
  const { processes, database, buffer, store, disk, steppedClock, steppedDatabaseClock, olderCopy } = parts;
  const more = [
    disk === 'plain' ? [] : `a ${disk} disk`,
    steppedClock ? 'a clock that steps' : [],
    steppedDatabaseClock ? 'a clock of the database that steps' : [],
    olderCopy ? 'an older copy' : [],
  ].flat();
  const head = [`${processes} process(es)`, `${database} database`, buffer, `${store} store`, ...more].join(
    ', ',
  );
  const lines = faults.map(
    ({ kind, target, atMs, forMs }) => `  at ${atMs} ms: ${kind} ${target}, ${forMs} ms`,
  );
  return [`seed ${seed}: ${head}, ${loadMs} ms of load`, ...lines].join('\n');
}
