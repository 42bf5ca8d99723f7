// Sends what Postgres has handed over to the archive, and tells Postgres so once the store has acknowledged it.
//
// A file `archive_status/NAME.ready` says that NAME is complete; Postgres keeps NAME until the file is called `NAME.done`. Whatever
// is killed in between, the file is still there, and NAME is sent again: the store has it then with the same content.
//
// Segments arrive in their order. So the archive has no gap but where log was given up; and of two copies of a database that archive
// into one place, the later one at the first difference cannot mix its log into that of the other.

import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { isArchived, keysOf, parseSegment, SEGMENT_BYTES } from './names.ts';
import { type ArchiveStore, addOnce } from './store.ts';
import { orAbsent } from './tar.ts';

/** One is compressed while the one before it is sent. Each takes the memory of a segment twice. */
const AT_ONCE = 2;

export type ShipperDeps = {
  /** The folder of the running cluster. */
  cluster: string;
  /** Its identifier. */
  id: string;
  store: Pick<ArchiveStore, 'add' | 'read' | 'ensureBucket' | 'bucket'>;
  log: Logger;
  queueBytesMax: number;
  /** Called when segments were given up: later segments then do not continue the earlier ones. */
  onGap?(): void;
};

type Ready = { name: string; since: number };

export function createShipper(deps: ShipperDeps) {
  const { cluster, store, log } = deps;
  const keys = keysOf(deps.id);
  const statusFolder = join(cluster, 'pg_wal/archive_status');
  const counts = { archived: 0, failed: 0, given_up: 0 };
  let last: { name: string; at: Date } | undefined;
  let failure: unknown;
  let hasBucket = false;

  const statusFile = (name: string, state: 'ready' | 'done'): string =>
    join(statusFolder, `${name}.${state}`);
  /** Returns whether it was waiting. */
  const settle = (name: string): Promise<boolean> =>
    rename(statusFile(name, 'ready'), statusFile(name, 'done'))
      .then(() => true, orAbsent)
      .then(Boolean);
  const isWaiting = (name: string): boolean => existsSync(statusFile(name, 'ready'));

  /** The oldest first. */
  async function waiting(): Promise<Ready[]> {
    const names = (await readdir(statusFolder))
      .filter((file) => file.endsWith('.ready'))
      .map((file) => file.slice(0, -'.ready'.length))
      .filter(isArchived)
      .sort();
    const found = await Promise.all(
      names.map(async (name) => {
        const about = await stat(statusFile(name, 'ready')).catch(orAbsent);
        return about === undefined ? [] : [{ name, since: about.mtimeMs }];
      }),
    );
    return found.flat();
  }

  /** `turn`: when all before it is in the archive. */
  async function ship(name: string, turn: Promise<void>): Promise<void> {
    const bytes = await readFile(join(cluster, 'pg_wal', name)).catch(orAbsent);
    // Given up meanwhile: Postgres may have begun to write other log into the file while it was read.
    if (!isWaiting(name)) return;
    if (bytes === undefined) {
      // As Postgres' own archiver does.
      log.warn({ name }, 'a file of the write-ahead log is gone before it was archived');
      return await rm(statusFile(name, 'ready'), { force: true });
    }
    const isThere = await addOnce(store, { key: keys.log(name), bytes, turn });
    // The beginning of a segment that a timeline left is needed by no restore.
    if (!isThere && !name.endsWith('.partial')) throw new Conflict(name);
    await settle(name);
    counts.archived += 1;
    last = { name, at: new Date() };
    recover();
  }

  function recover(): void {
    if (failure !== undefined) log.info({}, 'the write-ahead log is archived again');
    failure = undefined;
  }

  /**
   * So that the disk does not fill: the service goes on, without the moments that only these segments could restore. The first one
   * stays, as it continues what is archived. If it is in conflict, nothing of this copy is sent after it, also after a restart.
   */
  async function limitQueue(): Promise<void> {
    const segments = (await waiting()).filter(({ name }) => parseSegment(name) !== undefined);
    if (segments.length * SEGMENT_BYTES <= deps.queueBytesMax) return;
    const given: string[] = [];
    for (const { name } of segments.slice(1)) if (await settle(name)) given.push(name);
    counts.given_up += given.length;
    log.error(
      { segments: given.length, first: given[0], last: given.at(-1) },
      'the archive is away or slow for too long: more log waits than WAL_ARCHIVE_QUEUE_BYTES_MAX allows, so it is given up; ' +
        'its moments cannot be restored, and a base backup follows',
    );
    deps.onGap?.();
  }

  return {
    /**
     * Sends all that is ready; the histories of timelines first, because a restore cannot find a timeline without. Throws for the first
     * file that cannot be sent, when the others of its time have ended.
     */
    async shipAll(signal: AbortSignal): Promise<void> {
      const ready = await waiting();
      const [histories, others] = [ready.filter(isHistory), ready.filter((each) => !isHistory(each))];
      const rest = others.values();
      let error: unknown;
      let turn: Promise<void> = Promise.resolve();
      const work = async (): Promise<void> => {
        for (const { name } of rest) {
          if (error !== undefined || signal.aborted) return;
          turn = ship(name, turn);
          await turn.catch((cause: unknown) => {
            error ??= cause;
          });
        }
      };
      try {
        if (!hasBucket) await store.ensureBucket();
        hasBucket = true;
        for (const { name } of histories) await ship(name, turn);
        await Promise.all(Array.from({ length: AT_ONCE }, work));
        if (error !== undefined) throw error;
      } catch (cause) {
        hasBucket = false;
        counts.failed += 1;
        if (failure === undefined)
          log.warn({ err: cause }, 'the write-ahead log cannot be archived now; it waits on the disk');
        failure = cause;
        await limitQueue();
        throw cause;
      }
      recover();
    },

    limitQueue,
    isWaiting,
    /** Whether another copy of the database has archived where this one would. */
    hasConflict: (): boolean => failure instanceof Conflict,

    async state() {
      const ready = await waiting();
      const segments = ready.filter(({ name }) => parseSegment(name) !== undefined);
      const oldest = Math.min(...ready.map(({ since }) => since));
      return {
        waiting_segments: segments.length,
        waiting_bytes: segments.length * SEGMENT_BYTES,
        lag_seconds: ready.length === 0 ? 0 : Math.max(0, Math.round((Date.now() - oldest) / 1000)),
        ...counts,
        last_archived: last?.name ?? null,
        last_archived_at: last?.at.toISOString() ?? null,
        failure: failure === undefined ? null : messageOf(failure),
      };
    },
  };
}

const isHistory = ({ name }: { name: string }): boolean => name.endsWith('.history');

class Conflict extends Error {
  constructor(name: string) {
    super(
      `the archive has another content of ${name}: a copy of this database archives there, too. Stop one of them, or name another bucket`,
    );
    this.name = 'Conflict';
  }
}
