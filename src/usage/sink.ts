// From the buffer into the database: fetch, store, acknowledge. After a crash between two of these steps stored events
// are delivered again, and storing them again changes nothing.

import { codeOf } from '../core/errors.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { endingWith } from '../core/tracing.ts';
import { sleep, until } from '../core/wait.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { exclusively, type Lease } from '../infra/postgres/exclusive.ts';
import { startPackSpan } from './appender.ts';
import type { Delivery, EventBuffer } from './buffer/event-buffer.ts';
import {
  SINK_BATCH_BYTES,
  SINK_BUSY_EVENTS,
  SINK_BUSY_LINGER_MS,
  SINK_EVENTS_MAX,
  SINK_EVENTS_MIN,
  SINK_FETCH_BYTES,
  SINK_FETCH_PACKS,
  SINK_LINGER_MS,
} from './limits.ts';
import { decodeRow, readPack } from './row.ts';
import type { DeadLetterStore } from './store/dead-letters.ts';
import type { EventWriter } from './store/writer.ts';

export type SinkDeps = {
  sql: Sql;
  buffer: EventBuffer;
  writer: EventWriter;
  deadLetters: Pick<DeadLetterStore, 'add'>;
  log: Logger;
  /** How long a sink that hangs keeps others from its work; default: 15 s. */
  lockLeaseMs?: number;
};

/** The numbers of stored and refused events since the start. */
export type SinkMetrics = { stored: number; deadLetters: number; failures: number };

type Batch = { deliveries: Delivery[]; rows: Buffer[]; bytes: number };

/** Data exceptions, violated constraints, program limits: a retry of the same rows would be refused again. */
const REFUSALS = /^(?:22|23|54)/;
/** The statement time-out of the server, and the deadline of our client. */
const TIMEOUTS: ReadonlySet<string> = new Set(['57014', 'DATABASE_TIMEOUT']);

/** Whether the database refuses the rows for their content. */
export const isRefusal = (error: unknown): error is Error => REFUSALS.test(codeOf(error));
/** Whether the database, or the way to it, took too long: a smaller batch may succeed. */
export const isTimeout = (error: unknown): boolean => TIMEOUTS.has(codeOf(error));

const WAIT_MS = 500;
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 5000;
/** How often a sink that another process keeps from working looks again. */
const LOCK_PAUSE_MS = 1000;
const SETTLE_POLL_MS = 10;

export function createSink(deps: SinkDeps): { job: Job; metrics: SinkMetrics } {
  const { sql, buffer, writer, deadLetters, log, lockLeaseMs } = deps;
  const metrics: SinkMetrics = { stored: 0, deadLetters: 0, failures: 0 };
  let eventsMax = SINK_EVENTS_MAX;
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  /** The waiting events, up to a batch. If there are fewer, events that arrive within a moment are added. */
  const collect = async (): Promise<Batch> => {
    const batch: Batch = { deliveries: [], rows: [], bytes: 0 };
    let lingered = false;
    for (let waitMs = WAIT_MS; ; waitMs = 0) {
      if (stopping.signal.aborted) return batch;
      const fetched = await fetchInto(batch, waitMs);
      if (batch.rows.length >= eventsMax || batch.bytes >= SINK_BATCH_BYTES) return batch;
      if (batch.rows.length === 0) return batch;
      const bytes = fetched.reduce((sum, { pack }) => sum + pack.length, 0);
      if (bytes >= SINK_FETCH_BYTES || fetched.length >= SINK_FETCH_PACKS) continue;
      if (lingered) return batch;
      lingered = true;
      await Bun.sleep(batch.rows.length < SINK_BUSY_EVENTS ? SINK_LINGER_MS : SINK_BUSY_LINGER_MS);
    }
  };

  /** If the batch cannot be completed, its packs are returned to the buffer. */
  const fetchInto = async (batch: Batch, waitMs: number): Promise<Delivery[]> => {
    try {
      const limits = {
        bytesMax: SINK_FETCH_BYTES,
        packsMax: SINK_FETCH_PACKS,
        waitMs,
        signal: stopping.signal,
      };
      const fetched = await buffer.fetch(limits);
      for (const delivery of fetched) {
        const { rows, bytes } = readPack(delivery.pack);
        batch.deliveries.push(delivery);
        batch.bytes += bytes;
        for (const row of rows) batch.rows.push(row);
      }
      return fetched;
    } catch (error) {
      if (batch.deliveries.length > 0) await buffer.release(batch.deliveries).catch(() => undefined);
      throw error;
    }
  };

  /** Stores the rows; rows that the database refuses for their content become dead letters. */
  const store = async (rows: readonly Buffer[]): Promise<void> => {
    try {
      await writer.store(rows);
      metrics.stored += rows.length;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const [row] = rows;
      if (rows.length === 1 && row !== undefined) return bury(row, error);
      const middle = Math.ceil(rows.length / 2);
      await store(rows.slice(0, middle));
      await store(rows.slice(middle));
    }
  };
  const bury = async (row: Buffer, cause: Error): Promise<void> => {
    const { workspaceId, id } = decodeRow(row);
    await deadLetters.add({ workspaceId, reason: cause.message, row });
    metrics.deadLetters += 1;
    log.error({ workspace_id: workspaceId, id, reason: cause.message }, 'an event became a dead letter');
  };

  const storeBatch = async ({ rows, deliveries }: Batch): Promise<void> => {
    const traces = deliveries.flatMap(({ trace }) => trace ?? []);
    await endingWith(startPackSpan('process', { buffer, traces, messages: rows.length }), async () => {
      for (const part of inParts(rows, eventsMax)) await store(part);
      await buffer.acknowledge(deliveries);
    });
    eventsMax = Math.min(SINK_EVENTS_MAX, eventsMax * 2);
  };

  /** Runs until it is stopped; rejects when a service is unavailable, with everything released. */
  const drain = async (lock?: Lease): Promise<void> => {
    let next = collect();
    while (!stopping.signal.aborted) {
      const batch = await next;
      if (batch.deliveries.length === 0) {
        lock?.assert();
        next = collect();
        continue;
      }
      // The next one is fetched and unpacked while this one is stored.
      next = collect();
      next.catch(() => undefined);
      try {
        lock?.assert();
        await storeBatch(batch);
        failures = 0;
      } catch (error) {
        const ahead = await next.catch(() => undefined);
        await buffer.release([...batch.deliveries, ...(ahead?.deliveries ?? [])]).catch(() => undefined);
        throw error;
      }
    }
    const ahead = await next;
    await buffer.release(ahead.deliveries);
  };
  let failures = 0;
  const work = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        const lock = buffer.sinkLock();
        await (lock === undefined ? drain() : exclusively(sql, lock, drain, lockLeaseMs));
        await sleep(LOCK_PAUSE_MS, stopping.signal);
      } catch (error) {
        if (stopping.signal.aborted) return;
        metrics.failures += 1;
        eventsMax = isTimeout(error) ? Math.max(SINK_EVENTS_MIN, Math.floor(eventsMax / 2)) : eventsMax;
        // Once an outage.
        if (failures === 0)
          log.warn({ err: error }, 'usage events cannot be stored now; they wait in the buffer');
        await sleep(Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** failures++), stopping.signal);
      }
    }
  };

  return {
    metrics,
    job: {
      name: 'usage.sink',
      start() {
        running = work();
      },
      async stop() {
        stopping.abort();
        await running;
        writer.close();
      },
      async settle() {
        await until(async () => (await buffer.metrics()).packs === 0, { everyMs: SETTLE_POLL_MS });
      },
    },
  };
}

/** Parts of at most so many rows, and about as many bytes as a transaction takes. */
function* inParts(rows: readonly Buffer[], rowsMax: number): Generator<Buffer[]> {
  let part: Buffer[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (part.length > 0 && (part.length >= rowsMax || bytes + row.length > SINK_BATCH_BYTES)) {
      yield part;
      [part, bytes] = [[], 0];
    }
    part.push(row);
    bytes += row.length;
  }
  if (part.length > 0) yield part;
}
