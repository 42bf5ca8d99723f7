// The embedded object store: a small S3 server for when none is configured. It speaks as much of the protocol as the service, browsers'
// upload forms and pre-signed URLs use, so that nothing else in the service knows which store it talks to. It runs on a thread of its
// own, so that neither a large upload nor a slow disk holds up the service.

import type { Logger } from '../../core/logger.ts';
import { toOrigin } from '../../core/origin.ts';
import { within } from '../../core/wait.ts';
import { limits } from './limits.ts';

export type StoreOptions = {
  /** Everything the store keeps lives here (mode 0700); created when absent. One store at a time. */
  directory: string;
  host: string;
  /** 0 = a free one. */
  port: number;
  region: string;
  /** The only bucket. */
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Exact origins, or `*`. */
  corsOrigins: readonly string[];
};

/** What the thread says; `fault`: a request failed for a reason of the store's own. */
export type FromStore = { port: number } | { refusal: string } | { fault: string } | { closed: true };

/**
 * Starts the store; resolves when it listens. Rejects where another process holds the directory or the port. The thread dies with the
 * process; nothing that was answered is lost by that. `log.error` is called with failures of which clients see InternalError at most.
 */
export async function startObjectStore(options: StoreOptions, log: Pick<Logger, 'error'>) {
  const worker = new Worker(new URL('./worker.ts', import.meta.url).href);
  const opened = Promise.withResolvers<number>();
  const closed = Promise.withResolvers<void>();
  worker.onmessage = ({ data }: MessageEvent<FromStore>) => {
    if ('port' in data) opened.resolve(data.port);
    else if ('refusal' in data) opened.reject(new Error(data.refusal));
    else if ('closed' in data) closed.resolve();
    else log.error({ reason: data.fault }, 'the embedded object store failed');
  };
  worker.onerror = ({ message }) => {
    opened.reject(new Error(message));
    log.error({ reason: message }, 'the embedded object store failed');
  };
  worker.addEventListener('close', () => closed.resolve());
  worker.postMessage(options);
  const silent = () => {
    throw new Error(`it did not listen within ${limits.startMsMax} ms`);
  };
  const port = await within(opened.promise, limits.startMsMax, silent).catch((error: unknown) => {
    worker.terminate();
    throw new Error(`The embedded object store did not start: ${String(error)}`, { cause: error });
  });
  return {
    /** `http://127.0.0.1:PORT` */
    endpoint: toOrigin(options.host, port),
    /** Stops accepting, lets running requests finish for a bounded time, then ends the thread. */
    async close(): Promise<void> {
      worker.postMessage('close');
      await within(closed.promise, limits.drainMsMax + limits.endMsMax, () => undefined);
      worker.terminate();
    },
  };
}
