// Group commit: requests that arrive together, or during an append, share a pack, and with it one acknowledgement of the
// buffer.

import { ServiceError, unavailable } from '../core/errors.ts';
import type { TraceContext } from '../core/trace-context.ts';
import { currentTrace, endingWith, traceHeaders } from '../core/tracing.ts';
import { type EventBuffer, PACK_BYTES_MAX } from './buffer/event-buffer.ts';
import { APPEND_GATHER_MS, WAITING_BYTES_MAX } from './limits.ts';
import { toPack } from './pack.ts';
import { startAppendSpan } from './pack-spans.ts';

export type Appender = {
  /** Resolves once all rows are durable. Throws 503 where that is uncertain; some may be stored nevertheless. */
  append(rows: readonly Buffer[]): Promise<void>;
};

/** `refusedAtMs`: monotonic time of the last refusal by the buffer; undefined after the next success. */
export type AppendMetrics = { refusedAtMs: number | undefined };

/** Rows of one request or of several that share a pack. */
type Shared = { rows: Buffer[]; bytes: number; traces: TraceContext[]; done: PromiseWithResolvers<void> };

/** `waitingBytesMax`: bytes of rows that wait or are being appended; beyond, 503. */
export function createAppender(
  buffer: Pick<EventBuffer, 'append' | 'description'>,
  waitingBytesMax: number = WAITING_BYTES_MAX,
): Appender & { metrics: AppendMetrics } {
  const metrics: AppendMetrics = { refusedAtMs: undefined };
  const waiting: Shared[] = [];
  let waitingBytes = 0;
  let isRunning = false;
  let isScheduled = false;

  /** Sends after the requests that have arrived in this round of the event loop, or later; one pack at a time. */
  const sendSoon = (laterMs = 0): void => {
    if (isScheduled || isRunning) return;
    isScheduled = true;
    if (laterMs === 0) setImmediate(send);
    else setTimeout(send, laterMs);
  };
  const send = (): void => {
    isScheduled = false;
    const next = waiting.shift();
    if (next === undefined) return;
    isRunning = true;
    void appendShared(next).finally(() => {
      isRunning = false;
      waitingBytes -= next.bytes;
      if (waiting.length > 0) sendSoon(waiting.length > 1 ? 0 : APPEND_GATHER_MS);
    });
  };
  const appendShared = async ({ rows, traces, done }: Shared): Promise<void> => {
    try {
      await endingWith(startAppendSpan({ buffer, traces, messages: rows.length }), (span) =>
        buffer.append(toPack(rows), span && traceHeaders(span)),
      );
      metrics.refusedAtMs = undefined;
      done.resolve();
    } catch (error) {
      done.reject(error);
      if (!(error instanceof ServiceError) || error.kind !== 'unavailable') return;
      metrics.refusedAtMs = performance.now();
      // The appends that wait would take as long again for the same result.
      for (const each of waiting.splice(0)) {
        waitingBytes -= each.bytes;
        each.done.reject(error);
      }
    }
  };
  const add = (row: Buffer, trace: TraceContext | undefined): Promise<void> => {
    let open = waiting.at(-1);
    if (open === undefined || open.bytes + row.length > PACK_BYTES_MAX) {
      open = { rows: [], bytes: 0, traces: [], done: Promise.withResolvers() };
      waiting.push(open);
    }
    open.rows.push(row);
    if (trace?.isSampled && open.traces.at(-1) !== trace) open.traces.push(trace);
    open.bytes += row.length;
    waitingBytes += row.length;
    sendSoon();
    return open.done.promise;
  };

  return {
    metrics,
    async append(rows) {
      if (waitingBytes > waitingBytesMax) throw unavailable('More usage events wait than can be taken now');
      const trace = currentTrace();
      await Promise.all(new Set(rows.map((row) => add(row, trace))));
    },
  };
}
