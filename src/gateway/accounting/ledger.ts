// Accounts of answered requests, summed in a file that outlives the process. Once a second the sums become usage events; a
// file that a dead process left is handed on by others, and counts once, because its events are named after it.
// A file is removed once the buffer has made its events durable. While the buffer does not accept them, sums go on in the file
// that there is, and are flushed. Without a file new requests are refused, and those that were under way are summed in memory.
// The next file is made in advance, so that no request waits for the disk: while it hangs, sums go on in the file that there is.

import type { Clock } from '../../core/clock.ts';
import { type DiskFault, DiskHangs, diskFaultOf } from '../../core/disk-fault.ts';
import { unavailable } from '../../core/errors.ts';
import type { RecordEvents, ServiceEvent } from '../../core/event.ts';
import { newRandomId } from '../../core/ids.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createOwnedFolder } from '../../core/owned-folder.ts';
import { createPeriodic } from '../../core/periodic.ts';
import { endsWithin } from '../../core/wait.ts';
import { LEDGER_ADOPT_MS, LEDGER_PREPARE_MS, LEDGER_RETRY_MS, LEDGER_ROTATE_MS } from '../limits.ts';
import {
  discardLedgerFile,
  readLedgerFile,
  removeLedgerFile,
  roomOnDisk,
  syncLedgerFile,
  toLedgerId,
} from './ledger-file.ts';
import { MODEL_USAGE_TYPE, toLedgerWorkspace } from './projection.ts';
import {
  type Account,
  type LedgerFile,
  type LedgerRoom,
  type Measures,
  measuresOf,
  openLedgerFile,
  roomInMemory,
  type Sums,
} from './sums.ts';

export type Ledger = {
  /** Throws 503 where a request could not be accounted for: the disk takes no file of accounts. */
  requireRoom(): void;
  /** Why that is so. */
  fault(): DiskFault | undefined;
  /** Adds a request to its account. Never throws. */
  add(account: Account, measures: Measures): void;
  job: Job;
};

export function createLedger(deps: {
  directory: string;
  record: RecordEvents;
  clock: Clock;
  log: Logger;
}): Ledger {
  const { directory, record, clock, log } = deps;
  const folder = createOwnedFolder(directory);
  let open: LedgerFile | undefined;
  /** No more is added to them; their events are not recorded yet. */
  const closed = new Set<LedgerFile>();
  /** An upper bound of the requests that are under way: those that end without an account stay counted. */
  let letIn = 0;
  /** When files of dead processes are looked for again. */
  let adoptAtMs = 0;
  /** The next file on disk, which has no accounts yet. */
  let next: LedgerRoom | undefined;
  let preparing: Promise<void> | undefined;
  /** Why no file could be made, and until when that is taken for granted. */
  let failure: { error: unknown; untilMs: number } | undefined;

  const makeNext = async (): Promise<void> => {
    try {
      next = await roomOnDisk(directory, await folder.newName());
      if (failure !== undefined) log.info({}, 'the use of models is accounted for on disk again');
      failure = undefined;
    } catch (error) {
      if (failure === undefined)
        log.error(
          { err: error },
          'no file for accounts of models can be made: without one, new requests are refused',
        );
      failure = { error, untilMs: performance.now() + LEDGER_RETRY_MS };
    }
  };
  /** Resolves when the next file is there, or cannot be made. */
  const prepare = async (): Promise<void> => {
    if (next !== undefined || (failure !== undefined && performance.now() < failure.untilMs)) return;
    preparing ??= makeNext().finally(() => {
      preparing = undefined;
    });
    await preparing;
  };
  const close = (): void => {
    if (open !== undefined) closed.add(open);
    open = undefined;
  };
  /** Opens the next file, on disk if there is one. */
  const openNext = (): LedgerFile => {
    close();
    open = openLedgerFile(next ?? roomInMemory(newRandomId()), clock.now());
    next = undefined;
    void prepare();
    return open;
  };
  const hasRoom = (): boolean => next !== undefined || (open?.onDisk === true && !open.isFull());

  /** False where the buffer does not accept the events. Recording an account again counts it once. */
  const recordSums = async (sums: Sums): Promise<boolean> => {
    try {
      await record(toEvents(sums));
      return true;
    } catch (error) {
      log.debug({ err: error }, 'accounts of models wait for the buffer of usage events');
      return false;
    }
  };
  /** Whether all closed files are recorded, and removed. Where they are not, all files are flushed. */
  const handOn = async (): Promise<boolean> => {
    for (const file of closed) {
      if (!(await recordSums(file))) {
        const waiting = open === undefined ? [...closed] : [...closed, open];
        for (const { id, onDisk } of waiting) if (onDisk) await syncLedgerFile(directory, id);
        return false;
      }
      try {
        if (file.onDisk) await discardLedgerFile(directory, file);
      } finally {
        closed.delete(file);
      }
    }
    return true;
  };
  const rotate = async (): Promise<void> => {
    const isRecorded = await handOn();
    if (open === undefined) return;
    // Each hour has sums of its own.
    const isOfThisHour = hourOf(open.openedAt) === hourOf(clock.now());
    if (isOfThisHour && (isEmpty(open) || (!isRecorded && open.onDisk))) return;
    // Requests were let in because there is room on disk: the file goes when there is a next one. While the disk hangs or is full, it stays.
    const isNeeded = open.onDisk && (letIn > 0 || preparing !== undefined || failure !== undefined);
    if (isNeeded && next === undefined) return;
    if (isNeeded) openNext();
    else close();
    await handOn();
  };
  const adopt = async (): Promise<void> => {
    if (performance.now() < adoptAtMs) return;
    adoptAtMs = performance.now() + LEDGER_ADOPT_MS;
    // One refusal is enough: each may take as long as a time-out, and the sums that go on wait to be flushed.
    let accepts = true;
    const abandoned = await folder.abandoned();
    for (const id of abandoned.flatMap((name) => toLedgerId(name) ?? []))
      try {
        const left = readLedgerFile(directory, id);
        if (left !== undefined && accepts) accepts = await recordSums(left);
        if (left === undefined || accepts) await removeLedgerFile(directory, id);
        else await syncLedgerFile(directory, id);
      } catch (error) {
        log.error({ err: error }, 'accounts that were left cannot be handed on');
      }
  };
  const periodic = createPeriodic({
    name: 'gateway.ledger',
    intervalMs: LEDGER_ROTATE_MS,
    async run() {
      void prepare();
      await adopt();
      await rotate();
    },
    log,
  });

  return {
    requireRoom() {
      if (!hasRoom()) {
        void prepare();
        throw unavailable('The use of models cannot be accounted for at the moment', {
          cause: failure?.error,
        });
      }
      if (open?.onDisk !== true || open.isFull()) openNext();
      letIn += 1;
    },
    fault() {
      if (hasRoom()) return undefined;
      return diskFaultOf(failure === undefined ? new DiskHangs() : failure.error) ?? 'fails';
    },
    add(account, measures) {
      if (measures.requests > 0) letIn = Math.max(0, letIn - 1);
      if (open?.add(account, measures) !== true) openNext().add(account, measures);
    },
    job: {
      ...periodic,
      async start() {
        // A request that comes at once finds room. On a disk that hangs the service starts all the same.
        await endsWithin(prepare(), LEDGER_PREPARE_MS);
        await periodic.start();
      },
      async settle() {
        await preparing;
        await periodic.settle?.();
      },
      async stop() {
        await periodic.stop();
        await preparing;
        close();
        await handOn().catch((error: unknown) =>
          log.error({ err: error }, 'the use of models cannot be handed on'),
        );
        if (next !== undefined) await removeLedgerFile(directory, next.id);
        next = undefined;
        // Accounts on disk are found at the next start, or by another process.
        folder.leave();
        const lost = [...closed].filter(({ onDisk }) => !onDisk);
        if (lost.length > 0) log.error({ files: lost.length }, 'accounts of the use of models are lost');
      },
    },
  };
}

/** One for each account that something was added to, with an identity from the file. */
const toEvents = (file: Sums): ServiceEvent[] =>
  file.accounts.flatMap((account, slot) => {
    const measures = measuresOf(file, slot);
    if (account === undefined || measures === undefined) return [];
    const { workspaceId, subject, keyId, ...rest } = account;
    return {
      workspaceId: toLedgerWorkspace(workspaceId),
      type: MODEL_USAGE_TYPE,
      subject,
      data: { value: measures.requests, key_id: keyId, ...rest, ...measures },
      eventId: `${file.id}-${slot}`,
      time: file.openedAt,
    };
  });

const isEmpty = ({ accounts }: LedgerFile): boolean => accounts.length === 0;
const hourOf = (time: Date): number => Math.floor(time.getTime() / 3_600_000);
