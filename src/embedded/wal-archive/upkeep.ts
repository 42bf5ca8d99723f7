// What keeps an archive able to restore: the marks of the timelines that services were on, base backups, and the retention.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { connectPostgres } from '../../infra/postgres/client.ts';
import {
  type Archive,
  type BaseManifest,
  chainOf,
  newestSegment,
  readArchive,
  timelineAt,
} from './archives.ts';
import { BaseRefused, takeBase } from './base.ts';
import { keysOf, parseSegment, segmentName } from './names.ts';
import { removeExpired } from './retention.ts';
import type { WalArchiveSettings } from './settings.ts';
import { type ArchiveStore, addOnce } from './store.ts';

const UPKEEP_MS = 600_000;
/** After something that failed. */
const RETRY_MS = 60_000;
const RETENTION_EVERY_MS = 3_600_000;

export type UpkeepDeps = {
  /** The folder of the cluster. */
  cluster: string;
  /** Of a superuser. */
  url: string;
  store: ArchiveStore;
  settings: WalArchiveSettings;
  log: Logger;
};

type Watched = {
  id: string;
  signal: AbortSignal;
  isWaiting(name: string): boolean;
  hasConflict(): boolean;
  /** How often log was given up. */
  gaps(): number;
};

/** One look at a time. */
export function createUpkeep({ cluster, url, store, settings, log }: UpkeepDeps, watched: Watched) {
  const keys = keysOf(watched.id);
  const beganAt = systemClock.now();
  let lookAt = 0;
  let keepAt = 0;
  let bridgedGaps = 0;
  let isMarked = false;
  let otherTimeline: number | undefined;
  /** Of our timeline. */
  let newestBase: BaseManifest | undefined;
  let running: Promise<void> | undefined;
  const failures: { base?: string | undefined; retention?: string | undefined } = {};

  function fail(kind: keyof typeof failures, error: unknown, message: string): void {
    if (failures[kind] === undefined) log.warn({ err: error }, message);
    failures[kind] = messageOf(error);
    lookAt = performance.now() + RETRY_MS;
  }

  /**
   * So that a restore finds the timeline on which the service was at a time; one on which no service has run does not count. A bucket
   * that is new to this database lacks the histories, without which a restore does not find the timeline's log.
   */
  async function markTimeline(archive: Archive, timeline: number): Promise<void> {
    const [newest] = archive.timelines.slice(-1);
    const isOurs = timelineAt(archive, undefined) === timeline;
    otherTimeline = isMarked && newest !== undefined && !isOurs ? newest.timeline : undefined;
    if (otherTimeline !== undefined) return;
    for (const name of await readdir(join(cluster, 'pg_wal'))) {
      if (!name.endsWith('.history') || archive.logs.has(name)) continue;
      const bytes = await readFile(join(cluster, 'pg_wal', name));
      if (!(await addOnce(store, { key: keys.log(name), bytes })))
        throw new Error(`the archive has another content of ${name}`);
    }
    if (!isOurs) {
      const mark = { timeline, began_at: beganAt.toISOString() };
      await store.addJson(keys.timeline(timeline, beganAt), mark);
      archive.timelines.push(mark);
    }
    isMarked = true;
  }

  /** Undefined where none is needed. */
  function reasonForBase(archive: Archive): string | undefined {
    const base = newestBase;
    if (watched.gaps() > bridgedGaps) return 'log was given up';
    if (settings.baseIntervalHours === 0) return undefined;
    if (base === undefined) return 'there is none of this timeline';
    if (isInterrupted(archive, base)) return 'log is missing in the archive';
    const ageMs = systemClock.now().getTime() - Date.parse(base.stopped_at);
    return ageMs >= settings.baseIntervalHours * 3_600_000 ? 'it is time' : undefined;
  }

  /** Also where the service ran without its archive for a while. */
  function isInterrupted(archive: Archive, base: BaseManifest): boolean {
    const { timeline } = base;
    const end = chainOf(archive, base, { timeline, ancestors: [] }).at(-1)?.number ?? -1;
    const newest = newestSegment(archive, timeline);
    return end < newest && !watched.isWaiting(segmentName({ timeline, number: end + 1 }));
  }

  async function makeBase(archive: Archive, reason: string): Promise<void> {
    const gaps = watched.gaps();
    const sql = connectPostgres({ url, applicationName: 'atrium-wal-archive', log, connectionsMax: 1 });
    try {
      const base = await takeBase({ sql, cluster, store, signal: watched.signal });
      archive.bases.push(base);
      newestBase = base;
      bridgedGaps = gaps;
      log.info({ base: base.id, bytes: base.part_bytes, reason }, 'a base backup was made');
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  async function shorten(archive: Archive): Promise<void> {
    if (performance.now() < keepAt) return;
    try {
      const removed = await removeExpired(store, archive, {
        days: settings.retentionDays,
        now: systemClock.now(),
      });
      if (removed.bases > 0) log.info(removed, 'the archive was shortened to its retention');
      failures.retention = undefined;
      keepAt = performance.now() + RETENTION_EVERY_MS;
    } catch (error) {
      fail('retention', error, 'the archive cannot be shortened to its retention now; it is tried again');
    }
  }

  async function keep(): Promise<void> {
    // In that case the archive belongs to another copy of the database.
    if (watched.hasConflict()) return;
    const archive = await readArchive(store, watched.id, await store.list(`${watched.id}/`));
    const timeline = await timelineOf(cluster);
    newestBase = archive.bases.findLast((base) => base.timeline === timeline);
    await markTimeline(archive, timeline);
    const reason = reasonForBase(archive);
    if (reason !== undefined) await makeBase(archive, reason);
    failures.base = undefined;
    await shorten(archive);
  }

  return {
    isDue: (): boolean => running === undefined && performance.now() >= lookAt,
    hurry(): void {
      lookAt = 0;
    },
    begin(): void {
      lookAt = performance.now() + UPKEEP_MS;
      running = keep()
        .catch((error: unknown) => {
          if (watched.signal.aborted || error instanceof BaseRefused) return;
          fail('base', error, 'no base backup can be made now; it is tried again');
        })
        .finally(() => {
          running = undefined;
        });
    },
    ended: async (): Promise<void> => await running,
    state: () => ({
      gap: watched.gaps() > bridgedGaps,
      base_backup_at: newestBase?.stopped_at ?? null,
      base_backup_failure: failures.base ?? null,
      retention_failure: failures.retention ?? null,
      other_timeline: otherTimeline ?? null,
    }),
  };
}

/** The newest timeline of the files in its log. */
async function timelineOf(cluster: string): Promise<number> {
  const names = await readdir(join(cluster, 'pg_wal'));
  return names.reduce((newest, name) => Math.max(newest, parseSegment(name)?.timeline ?? 0), 0);
}
