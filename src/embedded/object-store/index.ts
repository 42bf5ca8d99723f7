// The embedded object store: a small S3 server for when none is configured. It speaks the protocol as
// the official SDK, browsers' upload forms and pre-signed URLs use it, so that nothing else in the
// service knows which store it talks to.
import { toOrigin } from '../../core/origin.ts';
import { limits } from './limits.ts';
import { openStore } from './store.ts';
import type { ObjectStoreOptions, StoreMessage, ThreadMessage } from './thread-messages.ts';

/** Called with failures of the store itself, of which clients see InternalError at most. */
interface Log {
  /** Called with the findings of its start. */
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface ObjectStore {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  /** Stops accepting, lets running requests finish for a bounded time, then ends the thread. */
  close(): Promise<void>;
}

/**
 * Starts the store on a thread of its own; resolves when it listens. Rejects where another process holds
 * the directory or the port. The thread dies with the process; nothing that was answered is lost by that.
 */
export async function startObjectStore(options: ObjectStoreOptions, log: Log): Promise<ObjectStore> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url).href);
  worker.addEventListener('message', ({ data }: MessageEvent<StoreMessage>) => {
    if (data.type === 'notice') log.warn({}, `the embedded object store: ${data.sentence}`);
    if (data.type === 'fault') log.error({ reason: data.reason }, 'the embedded object store failed');
  });
  worker.addEventListener('error', (event) =>
    log.error({ reason: event.message }, 'the embedded object store failed'),
  );
  const answer = await ask(worker, { type: 'start', options }, limits.startMsMax);
  if (answer.type !== 'listening') {
    worker.terminate();
    throw new Error(`The embedded object store did not start: ${toReason(answer)}`);
  }
  let closing: Promise<void> | undefined;
  async function close(): Promise<void> {
    await ask(worker, { type: 'close' }, limits.drainMsMax + limits.endMsMax);
    worker.terminate();
  }
  return {
    endpoint: toOrigin(options.host, answer.port),
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

/** Never rejects: a thread that dies or says nothing in time has `failed`. */
function ask(worker: Worker, message: ThreadMessage, timeoutMs: number): Promise<StoreMessage> {
  const { promise, resolve } = Promise.withResolvers<StoreMessage>();
  const listening = new AbortController();
  const { signal } = listening;
  const fail = (reason: string) => resolve({ type: 'failed', reason });
  const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs);
  worker.addEventListener('error', (event) => fail(event.message), { signal });
  worker.addEventListener('close', () => fail('its thread ended'), { signal });
  worker.addEventListener(
    'message',
    ({ data }: MessageEvent<StoreMessage>) => {
      if (data.type !== 'fault' && data.type !== 'notice') resolve(data);
    },
    { signal },
  );
  worker.postMessage(message);
  return promise.finally(() => {
    clearTimeout(timer);
    listening.abort();
  });
}

function toReason(answer: StoreMessage): string {
  return answer.type === 'failed' ? answer.reason : `it answered '${answer.type}'`;
}
