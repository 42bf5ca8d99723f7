// Requests that arrive together share a pack, and with it one acknowledgement of the buffer.

import { unavailable } from '../core/errors.ts';
import { type EventBuffer, PACK_BYTES_MAX } from './buffer/event-buffer.ts';
import { APPENDS_MAX, SHARE_WITHIN_MS, WAITING_BYTES_MAX } from './limits.ts';
import { toPack } from './pack.ts';

export type Appender = {
  /** Resolves once all the rows are durable. Throws 503 where that is not sure; some may be stored nevertheless. */
  append(rows: readonly Buffer[]): Promise<void>;
};

/** Rows on their way, of one request or of several. */
type Shared = { rows: Buffer[]; bytes: number; done: PromiseWithResolvers<void> };

export function createAppender(buffer: Pick<EventBuffer, 'append'>): Appender {
  let open: Shared | undefined;
  const closed: Shared[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = 0;
  let waitingBytes = 0;

  const close = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (open !== undefined) closed.push(open);
    open = undefined;
    send();
  };
  const send = (): void => {
    while (running < APPENDS_MAX) {
      const next = closed.shift();
      if (next === undefined) return;
      running += 1;
      void appendShared(next).finally(() => {
        running -= 1;
        waitingBytes -= next.bytes;
        send();
      });
    }
  };
  const appendShared = async ({ rows, done }: Shared): Promise<void> => {
    try {
      await buffer.append(toPack(rows));
      done.resolve();
    } catch (error) {
      done.reject(error);
    }
  };
  const add = (row: Buffer): Promise<void> => {
    if (open !== undefined && open.bytes + row.length > PACK_BYTES_MAX) close();
    open ??= { rows: [], bytes: 0, done: Promise.withResolvers() };
    open.rows.push(row);
    open.bytes += row.length;
    waitingBytes += row.length;
    timer ??= setTimeout(close, SHARE_WITHIN_MS);
    return open.done.promise;
  };

  return {
    async append(rows) {
      if (waitingBytes > WAITING_BYTES_MAX) throw unavailable('More usage events wait than can be taken now');
      await Promise.all(new Set(rows.map(add)));
    },
  };
}
