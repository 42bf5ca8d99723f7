// Beside the embedded Postgres for as long as it runs: sends its log to the archive, which is kept up beside it (upkeep.ts). A store
// that is away stops none of the service's work.

import { systemClock } from '../../core/clock.ts';
import { endsWithin, sleep } from '../../core/wait.ts';
import { readIdentifier } from './base.ts';
import { createShipper } from './ship.ts';
import { writeStatus } from './status.ts';
import { createUpkeep, type UpkeepDeps } from './upkeep.ts';

const POLL_MS = 500;
const REPORT_MS = 5000;
/** The time for sending the end of the log at an orderly shutdown. The rest is sent at the next start. */
const FINISH_MS = 10_000;

export type ArchiverOptions = UpkeepDeps & {
  /** The folder of the embedded Postgres. */
  directory: string;
  /** False for a command: it leaves base backups to the service, and does not count as use of a timeline. */
  isService: boolean;
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
  let gaps = 0;
  const shipper = createShipper({
    cluster,
    id,
    store,
    log,
    queueBytesMax: settings.queueBytesMax,
    onGap: () => {
      gaps += 1;
      upkeep.hurry();
    },
  });
  const { isWaiting, hasConflict } = shipper;
  const upkeep = createUpkeep(options, {
    id,
    isWaiting,
    hasConflict,
    gaps: () => gaps,
    signal: ending.signal,
  });

  const report = async (): Promise<void> => {
    const at = systemClock.now().toISOString();
    // Here, because a store that is slow or hangs keeps the other loop for long.
    await shipper.limitQueue();
    const state = await shipper.state();
    writeStatus(directory, { at, ...state, ...upkeep.state() });
  };
  const tryReport = (): void => void report().catch(() => undefined);
  const reporting = setInterval(tryReport, REPORT_MS);
  tryReport();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // What fails is logged once and tried again: each failure is in the report.
      await shipper.shipAll(stopping.signal).catch(() => undefined);
      if (options.isService && upkeep.isDue()) upkeep.begin();
      await sleep(POLL_MS, stopping.signal);
    }
  };
  const running = run();
  const sendLast = async (): Promise<void> => {
    await running;
    await shipper.shipAll(new AbortController().signal).catch(() => undefined);
    await upkeep.ended();
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
