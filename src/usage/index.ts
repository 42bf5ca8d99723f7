// Area E: usage events of applications and of the service itself. A buffer keeps them until the database has them; they are
// read in pages and in sums.

import { Elysia } from 'elysia';
import type { Clock } from '../core/clock.ts';
import type { EventProjection, RecordEvents, WakeEventMover } from '../core/event.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import type { AreaWithRoutes } from '../http/area.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { createSweep } from '../infra/postgres/sweep.ts';
import { Appender } from './appender.ts';
import type { EventBuffer } from './buffer/event-buffer.ts';
import type { JetStreamSettings } from './buffer/jetstream/index.ts';
import { Journal } from './buffer/journal/index.ts';
import { createUsageHealth } from './health.ts';
import { DAY_MS, RETENTION_INTERVAL_MS, RETENTION_STEP_EVENTS } from './limits.ts';
import { createMover } from './mover.ts';
import { createDeadLetters } from './operations/dead-letters.ts';
import { Ingestion } from './operations/ingest.ts';
import { EventPages } from './operations/retrieve.ts';
import { EventSums } from './operations/summarise.ts';
import { conversationEventRoutes } from './routes/conversation-events.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { eventRoutes } from './routes/events.ts';
import { createSink } from './sink.ts';
import { createConversationEventReader } from './store/conversation-events.ts';
import { createDeadLetterStore } from './store/dead-letters.ts';
import { StorageBarrier } from './store/lock-stripes.ts';
import { createOutboxStore } from './store/outbox.ts';
import { createEventReader } from './store/reader.ts';
import { createRetention } from './store/retention.ts';
import { createSummaries } from './store/summaries.ts';
import { createEventWriter } from './store/writer.ts';

export type UsageDeps = {
  sql: Sql;
  /** The identity of the database, for a message queue that several services use. */
  identity(): Promise<string>;
  directory: string;
  settings: {
    nats: Omit<JetStreamSettings, 'bytesMax'> | undefined;
    bufferBytesMax: number;
    retentionDays: number;
    sumsRetentionDays: number;
  };
  /** Sums of events that other areas keep. */
  projections: readonly EventProjection[];
  clock: Clock;
  log: Logger;
};

export type Usage = AreaWithRoutes & {
  record: RecordEvents;
  wakeMover: WakeEventMover;
  /** The first of the jobs: for a command that sends events without the rest. */
  buffer: Job;
  /** As the function of this name, for a command that has started the buffer. */
  awaitStored(timeoutMs: number): Promise<number | null>;
  /** Packs of events in the buffer and events in the outbox, as they were counted last. */
  waiting(): number;
};

export async function createUsage(deps: UsageDeps): Promise<Usage> {
  const { sql, clock, log, settings } = deps;
  const buffer = await createBuffer(deps);
  const appender = new Appender(buffer);
  const letters = createDeadLetterStore(sql);
  const sink = createSink({
    sql,
    buffer,
    writer: createEventWriter(sql, deps.projections),
    deadLetters: letters,
    log,
  });
  const outbox = createOutboxStore(sql, deps.projections);
  const mover = createMover({ store: outbox, log });
  const health = createUsageHealth({
    buffer,
    outbox,
    appender,
    storing: [sink.metrics, mover.metrics],
    shared: settings.nats !== undefined,
    log,
  });
  const barrier = new StorageBarrier(sql);

  const { retentionDays } = settings;
  const store = createRetention(sql);
  const retention = createSweep({
    sql,
    name: 'usage.retention',
    intervalMs: RETENTION_INTERVAL_MS,
    horizon: () => new Date(clock.now().getTime() - retentionDays * DAY_MS),
    deleteSome: (before) => store.deleteSome(before, RETENTION_STEP_EVENTS),
    log,
  });

  const { sumsRetentionDays } = settings;
  const sumsRetention = createSweep({
    sql,
    name: 'usage.sums-retention',
    intervalMs: RETENTION_INTERVAL_MS,
    horizon: () => new Date(clock.now().getTime() - sumsRetentionDays * DAY_MS),
    deleteSome: (before) => store.deleteSomeSums(before, RETENTION_STEP_EVENTS),
    log,
  });

  const opening: Job = {
    name: 'usage.buffer',
    start: () => buffer.start(),
    stop: () => buffer.close(),
  };
  return {
    record: (events) => appender.record(events),
    wakeMover: mover.wake,
    buffer: opening,
    awaitStored: (timeoutMs) => buffer.awaitStored(timeoutMs),
    waiting: health.waiting,
    routes: (http) =>
      new Elysia({ name: 'usage' })
        .use(
          eventRoutes(http, {
            ingestion: new Ingestion({ appender, clock }),
            pages: new EventPages({ reader: createEventReader(sql), barrier, clock, retentionDays }),
            sums: new EventSums({ summaries: createSummaries(sql), barrier, clock }),
          }),
        )
        .use(conversationEventRoutes(http, createConversationEventReader(sql)))
        .use(deadLetterRoutes(http, createDeadLetters({ store: letters, appender }))),
    jobs: [
      opening,
      health.job,
      sink.job,
      mover.job,
      ...(retentionDays === 0 ? [] : [retention]),
      ...(sumsRetentionDays === 0 ? [] : [sumsRetention]),
    ],
    checks: [health.check],
    metrics: health.metrics,
  };
}

/** The client of NATS is loaded only where it is used. */
async function createBuffer({ directory, settings, identity, log }: UsageDeps): Promise<EventBuffer> {
  const { nats, bufferBytesMax: bytesMax } = settings;
  if (nats === undefined) return new Journal({ directory, bytesMax, log });
  const { JetStreamBuffer } = await import('./buffer/jetstream/index.ts');
  return new JetStreamBuffer({ settings: { ...nats, bytesMax }, identity, log });
}
