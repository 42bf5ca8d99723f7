// Beside the embedded Postgres for as long as it runs: sends its log to the archive, makes base backups, and removes what the
// retention does not need. A store that is away stops none of the service's work.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { endsWithin, sleep } from '../../core/wait.ts';
import { connectPostgres } from '../../infra/postgres/client.ts';
import { type Archive, type BaseManifest, chainOf, expired, newestSegment, readArchive } from './archives.ts';
import { BaseRefused, readIdentifier, takeBase } from './base.ts';
import { keysOf, parseSegment, segmentName } from './names.ts';
import type { WalArchiveSettings } from './settings.ts';
import { createShipper } from './ship.ts';
import { writeStatus } from './status.ts';
import type { ArchiveStore } from './store.ts';

const POLL_MS = 500;
const UPKEEP_MS = 600_000;
/** After a base backup that failed. */
const RETRY_MS = 60_000;
const RETENTION_EVERY_MS = 3_600_000;
const REPORT_MS = 5000;
/** At an orderly end, for the last of the log; what is not sent then is sent at the next start. */
const FINISH_MS = 10_000;
/** Parts without a manifest that are older belong to a backup that was cut off. */
const ABANDONED_MS = 86_400_000;

export type ArchiverOptions = {
  /** The folder of the embedded Postgres, and of its cluster. */
  directory: string;
  cluster: string;
  /** Of a superuser. */
  url: string;
  store: ArchiveStore;
  settings: WalArchiveSettings;
  /** False for a command: it leaves base backups to the service, and does not count as use of a timeline. */
  isService: boolean;
  log: Logger;
};

export type Archiver = {
  /** Before Postgres ends: no base backup is made any more. */
  endBases(): void;
  /** After Postgres has ended: sends the last of its log, for a bounded time. */
  finish(): Promise<void>;
};

export async function startArchiver(options: ArchiverOptions): Promise<Archiver> {
  const { cluster, directory, store, settings, log } = options;
  const id = await readIdentifier(cluster);
  const stopping = new AbortController();
  const ending = new AbortController();
  let gap = false;
  const shipper = createShipper({
    ...{ cluster, id, store, log, queueBytesMax: settings.queueBytesMax },
    onGap: () => {
      gap = true;
      bases.hurry();
    },
  });
  const bases = createBases(options, {
    ...{ id, signal: ending.signal, isWaiting: shipper.isWaiting },
    hasGap: () => gap,
    bridged: () => {
      gap = false;
    },
  });

  const report = async (): Promise<void> => {
    const at = systemClock.now().toISOString();
    const state = await shipper.state();
    const { base_backup_at, base_backup_failure } = bases.state();
    writeStatus(directory, { at, ...state, base_backup_at, base_backup_failure });
  };
  const tryReport = (): void => void report().catch(() => undefined);
  const reporting = setInterval(tryReport, REPORT_MS);
  tryReport();
  let marked = false;
  /** So that a restore finds the timeline on which the service was at a time; a timeline on which no service has run does not count. */
  const markTimeline = async (): Promise<void> => {
    const timeline = await timelineOf(cluster);
    const began_at = systemClock.now().toISOString();
    if (timeline > 1) await store.addJson(keysOf(id).timeline(timeline), { timeline, began_at });
    marked = true;
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // What fails is logged once and tried again: each failure is in the report.
      await shipper.shipAll(stopping.signal).catch(() => undefined);
      if (!marked && options.isService) await markTimeline().catch(() => undefined);
      if (options.isService && bases.isDue()) bases.begin();
      await sleep(POLL_MS, stopping.signal);
    }
  };
  const running = run();
  const sendLast = async (): Promise<void> => {
    await Promise.all([running, bases.ended()]);
    await shipper.shipAll(new AbortController().signal).catch(() => undefined);
    await report();
  };

  return {
    endBases: () => ending.abort(),
    async finish() {
      ending.abort();
      stopping.abort();
      clearInterval(reporting);
      const inTime = await endsWithin(sendLast(), FINISH_MS);
      const { waiting_segments: segments } = await shipper.state();
      if (!inTime || segments > 0)
        log.warn(
          { segments },
          'the last of the write-ahead log is archived at the next start: the store is away',
        );
      store.close();
    },
  };
}

type Watched = {
  id: string;
  signal: AbortSignal;
  isWaiting(name: string): boolean;
  hasGap(): boolean;
  /** Called when a base backup was made that began after the gap. */
  bridged(): void;
};

/** Base backups, one at a time, and the retention. */
function createBases({ cluster, url, store, settings, log }: ArchiverOptions, watched: Watched) {
  let lookAt = 0;
  let keepAt = 0;
  let known: Archive | undefined;
  let failure: string | undefined;
  let running: Promise<void> | undefined;

  /** Undefined where none is needed. */
  async function reasonForBase(archive: Archive): Promise<string | undefined> {
    const base = archive.bases.at(-1);
    if (watched.hasGap()) return 'log was given up';
    if (settings.baseIntervalHours === 0) return undefined;
    if (base === undefined) return 'there is none';
    if ((await timelineOf(cluster)) !== base.timeline) return 'a restore has begun a timeline';
    if (isInterrupted(archive, base)) return 'log is missing in the archive';
    const ageMs = systemClock.now().getTime() - Date.parse(base.stopped_at);
    return ageMs >= settings.baseIntervalHours * 3_600_000 ? 'it is time' : undefined;
  }

  /** Also where the service ran without its archive for a while. */
  function isInterrupted(archive: Archive, base: BaseManifest): boolean {
    const { timeline } = base;
    const end = chainOf(archive, base, { timeline, ancestors: [] }).at(-1)?.number ?? -1;
    const newest = newestSegment(archive, timeline);
    // One that is sent beside others may arrive after them.
    return end < newest && !watched.isWaiting(segmentName({ timeline, number: end + 1 }));
  }

  async function keep(): Promise<void> {
    const archive = await readArchive(store, watched.id, await store.list(`${watched.id}/`));
    known = archive;
    const reason = await reasonForBase(archive);
    if (reason !== undefined) {
      const sql = connectPostgres({ url, applicationName: 'atrium-wal-archive', log, connectionsMax: 1 });
      try {
        const base = await takeBase({ sql, cluster, store, signal: watched.signal });
        archive.bases.push(base);
        watched.bridged();
        log.info({ base: base.id, bytes: base.part_bytes, reason }, 'a base backup was made');
      } finally {
        await sql.end({ timeout: 1 });
      }
    }
    failure = undefined;
    if (performance.now() < keepAt) return;
    keepAt = performance.now() + RETENTION_EVERY_MS;
    await removeExpired(archive);
  }

  async function removeExpired(archive: Archive): Promise<void> {
    const keys = keysOf(watched.id);
    const now = systemClock.now().getTime();
    const old = expired(archive, new Date(now - settings.retentionDays * 86_400_000));
    // The manifests first: a base backup without its parts would be worse than parts without a manifest.
    await store.remove(old.bases.map((base) => keys.manifest(base.id)));
    await store.remove(old.logs.map(keys.log));
    const kept = new Set(archive.bases.filter((base) => !old.bases.includes(base)).map((base) => base.id));
    const gone = new Set(old.bases.map((base) => base.id));
    const parts = (await store.list(keys.parts)).filter(({ key, lastModified }) => {
      const base = key.slice(keys.parts.length).split('/')[0] ?? '';
      return gone.has(base) || (!kept.has(base) && now - lastModified.getTime() > ABANDONED_MS);
    });
    await store.remove(parts.map(({ key }) => key));
    archive.bases = archive.bases.filter(({ id }) => kept.has(id));
    if (old.bases.length > 0)
      log.info(
        { bases: old.bases.length, logs: old.logs.length },
        'the archive was shortened to its retention',
      );
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
          if (failure === undefined)
            log.warn({ err: error }, 'no base backup can be made now; it is tried again');
          failure = messageOf(error);
          lookAt = performance.now() + RETRY_MS;
        })
        .finally(() => {
          running = undefined;
        });
    },
    ended: async (): Promise<void> => await running,
    state: () => ({
      base_backup_at: known?.bases.at(-1)?.stopped_at ?? null,
      base_backup_failure: failure ?? null,
    }),
  };
}

/** The newest timeline of the files in its log. */
async function timelineOf(cluster: string): Promise<number> {
  const names = await readdir(join(cluster, 'pg_wal'));
  return names.reduce((newest, name) => Math.max(newest, parseSegment(name)?.timeline ?? 0), 0);
}
