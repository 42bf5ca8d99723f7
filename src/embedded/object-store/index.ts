// The embedded object store: a small S3 server for when none is configured. It speaks the protocol as
// the official SDK, browsers' upload forms and pre-signed URLs use it, so that nothing else in the
// service knows which store it talks to.
import { toOrigin } from '../../core/origin.ts';
import { createThread } from '../../core/thread.ts';
import { limits } from './limits.ts';
import { openStore } from './store.ts';
import type { GivenObject, ObjectStoreOptions, StoreCalls, StoreNotice } from './thread-messages.ts';

export { openFileReader } from './file-reader.ts';
export type { GivenObject } from './thread-messages.ts';

/** Called with failures of the store itself, of which clients see InternalError at most. */
interface Log {
  /** Called with the findings of its start. */
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface EmbeddedStore {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  /**
   * Keeps small objects of differing keys in its bucket; resolves when all of them are on the disk, which together takes a fraction
   * of the time of as many requests. Where it rejects, it may have kept them.
   */
  keep(objects: readonly GivenObject[]): Promise<void>;
  /** Stops accepting, lets running requests finish for a bounded time, then ends the thread. */
  close(): Promise<void>;
}

/**
 * Starts the store on a thread of its own; resolves when it listens. Rejects where another process holds
 * the directory or the port. The thread dies with the process; nothing that was answered is lost by that.
 */
export async function startObjectStore(options: ObjectStoreOptions, log: Log): Promise<EmbeddedStore> {
  let hasEnded = false;
  const thread = createThread<StoreCalls, number>({
    entry: new URL('./worker.ts', import.meta.url),
    settings: options,
    openMsMax: limits.startMsMax,
    onNotice: (notice: StoreNotice) => {
      if (notice.type === 'notice') log.warn({}, `the embedded object store: ${notice.sentence}`);
      else log.error({ reason: notice.reason }, 'the embedded object store failed');
    },
    onError: (reason) => log.error({ reason }, 'the embedded object store failed'),
    onEnd: () => {
      hasEnded = true;
      log.error({}, 'the thread of the embedded object store has ended by itself');
    },
  });
  const port = await thread.open().catch((error: unknown) => {
    thread.end();
    throw new Error(`The embedded object store did not start: ${String(error)}`, { cause: error });
  });
  let closing: Promise<void> | undefined;
  async function close(): Promise<void> {
    // A request would start it again.
    if (!hasEnded) await thread.ask('close', limits.drainMsMax + limits.endMsMax).catch(() => undefined);
    thread.end();
  }
  return {
    endpoint: toOrigin(options.host, port),
    keep: (objects) => thread.ask('keep', objects, limits.keepMsMax),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/**
 * For a store that does not run: sets aside every file that its catalogue does not name, however many. Returns how
 * many; they come back when a catalogue names them, until the retention has passed. Throws where a process has the store open.
 */
export async function setAsideUnnamed(directory: string, retentionSeconds: number): Promise<number> {
  const onFault = (error: unknown): never => {
    throw error;
  };
  const options = { retentionMs: retentionSeconds * 1000, takesUnnamed: true, onFault };
  const { objects, recovery } = await openStore(directory, options);
  await objects.close();
  return recovery.setAside;
}
