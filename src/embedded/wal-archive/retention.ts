// Finds the objects of the archive that a restore to a moment within the days of retention does not need.

import {
  type Archive,
  type BaseManifest,
  baseBefore,
  readTimeline,
  type Timeline,
  timelineAt,
} from './archives.ts';
import { keysOf, parsePosition, parseSegment, segmentAt } from './names.ts';
import type { ArchiveStore } from './store.ts';

const DAY_MS = 86_400_000;
/** Parts without a manifest that are older belong to a backup that was cut off. */
const ABANDONED_MS = DAY_MS;

/**
 * The times after `before` at which restores begin to need something else: a service began on a timeline then, or the days begin.
 * Each with its timeline.
 */
function beginnings(archive: Archive, before: Date): { at: Date; timeline: number }[] {
  const later = archive.timelines.map(({ began_at }) => new Date(began_at)).filter((at) => at > before);
  return [before, ...later].map((at) => ({ at, timeline: timelineAt(archive, at) }));
}

/**
 * What no restore to a moment after `before` needs: base backups that ended earlier, and are not the newest one of a beginning; and the
 * log before all base backups that stay. Histories stay. `ways` has the timelines of the beginnings.
 */
export function expired(
  archive: Archive,
  before: Date,
  ways: ReadonlyMap<number, Timeline>,
): { bases: BaseManifest[]; logs: string[] } {
  const { bases, logs } = archive;
  const needed = beginnings(archive, before).map(({ at, timeline }) => {
    const way = ways.get(timeline);
    return way === undefined ? undefined : baseBefore(archive, way, at);
  });
  const isOld = (base: BaseManifest): boolean =>
    Date.parse(base.stopped_at) <= before.getTime() && !needed.includes(base);
  const first = Math.min(
    ...bases.filter((base) => !isOld(base)).map(({ start }) => segmentAt(parsePosition(start))),
  );
  const isBefore = (name: string): boolean => {
    const segment = parseSegment(name.slice(0, 24));
    return segment !== undefined && segment.number < first;
  };
  return {
    bases: bases.filter(isOld),
    logs: needed[0] === undefined ? [] : [...logs.keys()].filter(isBefore),
  };
}

/** Removes it, and parts of base backups that were cut off. Returns how much; `archive` has the base backups that are left. */
export async function removeExpired(
  store: ArchiveStore,
  archive: Archive,
  { days, now: local }: { days: number; now: Date },
): Promise<{ bases: number; logs: number }> {
  const keys = keysOf(archive.id);
  // A clock that was set forward by mistake must not cause the removal of objects that are still needed.
  const now = Math.min(local.getTime(), (await store.now()).getTime());
  const before = new Date(now - days * DAY_MS);
  const ways = new Map<number, Timeline>();
  for (const { timeline } of beginnings(archive, before))
    if (!ways.has(timeline)) ways.set(timeline, await readTimeline(store, archive.id, timeline));
  const old = expired(archive, before, ways);
  // The manifests first: a base backup without its parts would be worse than parts without a manifest.
  await store.remove(old.bases.map((base) => keys.manifest(base.id)));
  await store.remove(old.logs.map(keys.log));
  const gone = new Set(old.bases.map(({ id }) => id));
  archive.bases = archive.bases.filter(({ id }) => !gone.has(id));
  const kept = new Set(archive.bases.map(({ id }) => id));
  const parts = (await store.list(keys.parts)).filter(({ key, lastModified }) => {
    const base = key.slice(keys.parts.length).split('/')[0] ?? '';
    return gone.has(base) || (!kept.has(base) && now - lastModified.getTime() > ABANDONED_MS);
  });
  await store.remove(parts.map(({ key }) => key));
  return { bases: old.bases.length, logs: old.logs.length };
}
