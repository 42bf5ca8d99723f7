// Accounts of answered requests, summed in a file that outlives the process. Once a second the sums become usage events; a
// file that a dead process left is handed on by others, and counts once, because its events are named after it.
// A file goes once its events are recorded. While the disk takes none, sums go on in the file that there is; without one
// new requests are refused, and those that were under way are summed in memory.

import type { Clock } from '../../core/clock.ts';
import { type DiskFault, diskFaultOf } from '../../core/disk-fault.ts';
import { unavailable } from '../../core/errors.ts';
import type { AwaitRecorded, RecordEvent } from '../../core/event.ts';
import { newRandomId } from '../../core/ids.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createOwnedFolder } from '../../core/owned-folder.ts';
import { LEDGER_ADOPT_MS, LEDGER_RETRY_MS, LEDGER_ROTATE_MS } from '../limits.ts';
import type { Account, Measures } from './account.ts';
import {
  createLedgerFile,
  type LedgerFile,
  measuresOf,
  readLedgerFile,
  removeLedgerFile,
  type Sums,
  toLedgerId,
} from './ledger-file.ts';
import { MODEL_USAGE_TYPE, toLedgerWorkspace } from './projection.ts';

export type Ledger = {
  /** Throws 503 where a request could not be accounted for: the disk has no room for accounts. */
  requireRoom(): void;
  /** Why that is so, in words; tried again by each call. */
  fault(): DiskFault | undefined;
  /** Adds a request to its account. Never throws. */
  add(account: Account, measures: Measures): void;
  job: Job;
};

export function createLedger(deps: {
  directory: string;
  record: RecordEvent;
  awaitRecorded: AwaitRecorded;
  clock: Clock;
  log: Logger;
}): Ledger {
  const { directory, record, awaitRecorded, clock, log } = deps;
  const folder = createOwnedFolder(directory);
  let open: LedgerFile | undefined;
  /** No more is added to them; their events are not recorded yet. */
  const closed: LedgerFile[] = [];
  const removals = new Set<Promise<void>>();
  /** Requests that are under way, or more: those that end without an account stay counted. */
  let letIn = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  let adoptTimer: ReturnType<typeof setInterval> | undefined;
  /** Why no file could be made, and until when that is taken for granted. */
  let failure: { error: unknown; untilMs: number } | undefined;

  const begin = (where: 'on disk' | 'in memory'): LedgerFile =>
    createLedgerFile({
      id: where === 'on disk' ? folder.newName() : newRandomId(),
      directory: where === 'on disk' ? directory : undefined,
      openedAt: clock.now(),
    });
  const close = (): void => {
    if (open !== undefined) closed.push(open);
    open = undefined;
  };
  /** A file on disk; undefined where there is none to be had. */
  const beginOnDisk = (): LedgerFile | undefined => {
    if (failure !== undefined && performance.now() < failure.untilMs) return undefined;
    try {
      const file = begin('on disk');
      if (failure !== undefined) log.info({}, 'the use of models is accounted for on disk again');
      failure = undefined;
      return file;
    } catch (error) {
      if (failure === undefined)
        log.error({ err: error }, 'the use of models cannot be accounted for: new requests are refused');
      failure = { error, untilMs: performance.now() + LEDGER_RETRY_MS };
      return undefined;
    }
  };

  /** False if not all of it is recorded; recording an account again counts it once. */
  const recordSums = ({ id, openedAt, accounts, sums }: Sums): boolean =>
    accounts.every((account, slot) => {
      const measures = measuresOf(sums, slot);
      if (account === undefined || measures === undefined) return true;
      const { workspaceId, subject, keyId, ...rest } = account;
      return record({
        workspaceId: toLedgerWorkspace(workspaceId),
        type: MODEL_USAGE_TYPE,
        subject,
        data: { value: measures.requests, key_id: keyId, ...rest, ...measures },
        eventId: `${id}-${slot}`,
        time: openedAt,
      });
    });
  /** Deletes recorded accounts once they survive a loss of power. The rest is forwarded again, and counts once. */
  const removeLater = (id: string): void => {
    const removal = awaitRecorded().then(
      () => removeLedgerFile(directory, id),
      (error: unknown) => log.debug({ err: error }, 'recorded accounts stay on disk for now'),
    );
    removals.add(removal);
    void removal.finally(() => removals.delete(removal));
  };
  /** A file goes once its events are kept elsewhere. False where the disk does not take them. */
  const handOn = (): boolean => {
    for (let file = closed[0]; file !== undefined; file = closed[0]) {
      if (!recordSums(file)) return false;
      closed.shift();
      if (file.onDisk) removeLater(file.id);
    }
    return true;
  };
  const rotate = (): void => {
    const isTaken = handOn();
    if (open === undefined) return;
    // Each hour has sums of its own.
    const isOfThisHour = hourOf(open.openedAt) === hourOf(clock.now());
    if (isOfThisHour && (isEmpty(open) || (!isTaken && open.onDisk))) return;
    // Requests were let in because there is room on disk: the file goes when there is a next one.
    const next = open.onDisk && letIn > 0 ? beginOnDisk() : undefined;
    if (open.onDisk && letIn > 0 && next === undefined) return;
    close();
    open = next;
    handOn();
  };
  const safely = (what: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, what);
    }
  };
  const adopt = (): void => {
    for (const name of folder.abandoned()) {
      const id = toLedgerId(name);
      if (id === undefined) continue;
      safely('accounts that were left cannot be handed on', () => {
        const left = readLedgerFile(directory, id);
        if (left === undefined || recordSums(left)) removeLater(id);
      });
    }
  };
  const requireRoom = (): void => {
    if (open?.onDisk === true && !open.isFull()) return;
    const file = beginOnDisk();
    if (file === undefined)
      throw unavailable('The use of models cannot be accounted for at the moment', {
        cause: failure?.error,
      });
    close();
    open = file;
  };
  const rotateSafely = (): void => safely('the use of models cannot be handed on', rotate);

  return {
    requireRoom() {
      requireRoom();
      letIn += 1;
    },
    fault() {
      if (failure === undefined) return undefined;
      try {
        requireRoom();
        return undefined;
      } catch {
        return diskFaultOf(failure?.error) ?? 'fails';
      }
    },
    add(account, measures) {
      if (measures.requests > 0) letIn = Math.max(0, letIn - 1);
      if (open?.isFull() === true) close();
      open ??= beginOnDisk() ?? begin('in memory');
      try {
        open.add(account, measures);
      } catch (error) {
        log.warn({ err: error }, 'the use of a model is kept in memory: the disk does not take it');
        close();
        open = begin('in memory');
        open.add(account, measures);
      }
    },
    job: {
      name: 'gateway.ledger',
      start() {
        const adoptSafely = () => safely('accounts that were left cannot be looked for', adopt);
        adoptSafely();
        timer = setInterval(rotateSafely, LEDGER_ROTATE_MS);
        adoptTimer = setInterval(adoptSafely, LEDGER_ADOPT_MS);
      },
      async stop() {
        clearInterval(timer);
        clearInterval(adoptTimer);
        safely('the use of models cannot be handed on', () => {
          close();
          handOn();
        });
        await Promise.all(removals);
        // Accounts on disk are found at the next start, or by another process.
        folder.leave();
        const lost = closed.filter(({ onDisk }) => !onDisk);
        if (lost.length > 0) log.error({ files: lost.length }, 'accounts of the use of models are lost');
      },
      async settle() {
        rotateSafely();
        await Promise.all(removals);
      },
    },
  };
}

const isEmpty = ({ accounts }: LedgerFile): boolean => accounts.length === 0;
const hourOf = (time: Date): number => Math.floor(time.getTime() / 3_600_000);
