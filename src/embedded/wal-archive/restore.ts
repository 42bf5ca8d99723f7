// A restore to a moment: which base backup and which log it takes, and Postgres' recovery with them.

import type { Logger } from '../../core/logger.ts';
import { recoverCluster } from '../postgres/index.ts';
import {
  type Archive,
  type BaseManifest,
  baseBefore,
  chainOf,
  isComplete,
  newestSegment,
  readArchives,
  readTimeline,
  timelineAt,
} from './archives.ts';
import { keysOf, parseSegment, segmentName } from './names.ts';
import { archivingServer, type WalArchiveSettings } from './settings.ts';
import { createShipper } from './ship.ts';
import type { ArchiveStore } from './store.ts';
import { unpackTar } from './tar.ts';

/** The restore is refused; the message is one line. Nothing was changed. */
class RestoreRefused extends Error {}

/** Segments that are fetched before Postgres asks for them. */
const AHEAD = 2;

export type RestoreToOptions = {
  /** The folder of the embedded Postgres, without a cluster. */
  directory: string;
  store: ArchiveStore;
  settings: WalArchiveSettings;
  /** Undefined: the end of the archive. */
  at: Date | undefined;
  /** The identifier of the cluster, where the bucket has the archives of several. */
  cluster: string | undefined;
  now: Date;
  log: Logger;
  note(sentence: string): void;
  step(render: () => string): void;
};

export type RestoredTo = {
  base_backup: string;
  segments: number;
  last_change_at: string | null;
  timeline: number;
  /** The last segment before a gap, where there is later log that cannot be applied. */
  gap_after: string | null;
};

/** Throws RestoreRefused before anything is written; a restore that is cut off leaves nothing. */
export async function restoreTo(options: RestoreToOptions): Promise<RestoredTo> {
  const { store, at, settings, log, step } = options;
  if (at !== undefined && at > options.now) throw new RestoreRefused(`${at.toISOString()} has not come yet`);
  const archive = chooseArchive(await readArchives(store), options);
  const plan = await planRestore(store, archive, at);
  const { base, timeline, gapAfter } = plan;
  if (gapAfter !== undefined)
    options.note(
      `the archive has a gap after ${gapAfter}: what was written later cannot be restored from it`,
    );
  const keys = keysOf(archive.id);
  let fetched = 0;
  const fetchLog = createFetch(store, archive, () => {
    fetched += 1;
    step(() => `log: ${fetched} segments applied, ${plan.segments} are there`);
  });
  const recovered = await recoverCluster({
    directory: options.directory,
    target: { at, timeline },
    settings: archivingServer(settings),
    unpack: (folder) => unpackTar(readParts(options, archive.id, base), folder),
    fetchLog,
    // The history of the new timeline has to be there before another restore chooses the number of its own.
    archive: (cluster) =>
      createShipper({
        cluster,
        id: archive.id,
        store,
        log,
        queueBytesMax: Number.POSITIVE_INFINITY,
      }).shipAll(new AbortController().signal),
  });
  return {
    base_backup: keys.manifest(base.id),
    segments: fetched,
    last_change_at: recovered.lastTransactionAt ?? null,
    timeline: recovered.timeline,
    gap_after: gapAfter ?? null,
  };
}

function chooseArchive(archives: readonly Archive[], { cluster, store }: RestoreToOptions): Archive {
  const ids = archives.map(({ id }) => id).join(', ');
  if (archives.length === 0) throw new RestoreRefused(`the bucket ${store.bucket} holds no archive`);
  const found = archives.filter(({ id }) => cluster === undefined || id === cluster);
  const [first] = found;
  if (first === undefined)
    throw new RestoreRefused(`the bucket ${store.bucket} has the archives ${ids} only`);
  if (found.length > 1)
    throw new RestoreRefused(
      `the bucket ${store.bucket} has the archives of several databases: choose one by --cluster (${ids})`,
    );
  return first;
}

async function planRestore(store: ArchiveStore, archive: Archive, at: Date | undefined) {
  const timeline = timelineAt(archive, at);
  const way = await readTimeline(store, archive.id, timeline);
  const base = baseBefore(archive, way, at);
  if (base === undefined) {
    const [first] = archive.bases;
    const earliest = first === undefined ? 'there is none yet' : `the first is of ${first.stopped_at}`;
    throw new RestoreRefused(`the archive has no base backup before that time: ${earliest}`);
  }
  const chain = chainOf(archive, base, way);
  const last = chain.at(-1);
  if (!isComplete(base, chain) || last === undefined)
    throw new RestoreRefused(`the archive lacks log of the base backup ${base.id}`);
  const isInterrupted = last.number < newestSegment(archive, timeline);
  return {
    base,
    timeline,
    segments: chain.length,
    gapAfter: isInterrupted ? segmentName(last) : undefined,
  };
}

async function* readParts(
  { store, step }: RestoreToOptions,
  id: string,
  base: BaseManifest,
): AsyncGenerator<Uint8Array> {
  const keys = keysOf(id);
  for (let index = 0; index < base.parts; index++) {
    step(() => `base backup: ${index} of ${base.parts} parts`);
    const part = await store.read(keys.part(base.id, index));
    if (part === undefined) throw new Error(`the archive lacks ${keys.part(base.id, index)}`);
    yield part;
  }
}

/** A file counts as absent only if the archive's list does not name it: an unreachable store must not look like the end of the log. */
function createFetch(store: ArchiveStore, archive: Archive, onFetched: () => void) {
  const keys = keysOf(archive.id);
  const ahead = new Map<string, Promise<Uint8Array | undefined>>();
  const begin = (name: string): Promise<Uint8Array | undefined> => {
    const found = ahead.get(name) ?? store.read(keys.log(name));
    found.catch(() => undefined);
    ahead.set(name, found);
    return found;
  };
  return async (name: string): Promise<Uint8Array | undefined> => {
    if (!archive.logs.has(name)) return undefined;
    const wanted = begin(name);
    const segment = parseSegment(name);
    const next = Array.from({ length: AHEAD }, (_, index) =>
      segment === undefined ? '' : segmentName({ ...segment, number: segment.number + 1 + index }),
    ).filter((each) => archive.logs.has(each));
    for (const each of next) void begin(each);
    for (const held of ahead.keys()) if (held !== name && !next.includes(held)) ahead.delete(held);
    const bytes = await wanted;
    if (bytes === undefined) throw new Error(`the archive lacks ${keys.log(name)}`);
    if (segment !== undefined) onFetched();
    return bytes;
  };
}
