// Area E: usage events of applications and of the service itself. A buffer keeps them until the database has them; they are
// read in pages and in sums.

import { Elysia } from 'elysia';
import type { Clock } from '../core/clock.ts';
import type { EventProjection, RecordEvents, WakeEventMover } from '../core/event.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import type { AreaWithRoutes } from '../http/area.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { exclusively } from '../infra/postgres/exclusive.ts';
import { createSweep } from '../infra/postgres/sweep.ts';
import { createAppender } from './appender.ts';
import { awaitStored } from './await-stored.ts';
import type { EventBuffer } from './buffer/event-buffer.ts';
import type { JetStreamSettings } from './buffer/jetstream/index.ts';
import { createJournal } from './buffer/journal/index.ts';
import { createUsageHealth } from './health.ts';
import { DAY_MS, FINISHED_DAYS_INTERVAL_MS, RETENTION_INTERVAL_MS, RETENTION_STEP_EVENTS } from './limits.ts';
import { createMover } from './mover.ts';
import { createDeadLetters } from './operations/dead-letters.ts';
import { createIngest } from './operations/ingest.ts';
import { createRetrieve } from './operations/retrieve.ts';
import { createSummarise } from './operations/summarise.ts';
import { createRecord } from './record.ts';
import { conversationEventRoutes } from './routes/conversation-events.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { eventRoutes } from './routes/events.ts';
import { createSink } from './sink.ts';
import { createConversationEventReader } from './store/conversation-events.ts';
import { createDeadLetterStore } from './store/dead-letters.ts';
import { createFinishedDays } from './store/finished-days.ts';
import { createStorageBarrier } from './store/lock-stripes.ts';
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
  const appender = createAppender(buffer);
  const letters = createDeadLetterStore(sql);
  const recording = createRecord(appender);
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
    appending: appender.metrics,
    recording: recording.metrics,
    storing: [sink.metrics, mover.metrics],
    shared: settings.nats !== undefined,
    log,
  });
  const settled = createStorageBarrier(sql);

  const { retentionDays } = settings;
  const horizon = () => clock.now().getTime() - retentionDays * DAY_MS;
  const store = createRetention(sql);
  const retention = createSweep({
    sql,
    name: 'usage.retention',
    intervalMs: RETENTION_INTERVAL_MS,
    horizon: () => new Date(horizon()),
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

  const days = createFinishedDays(sql);
  const finishedDays = createPeriodic({
    name: 'usage.finished-days',
    intervalMs: FINISHED_DAYS_INTERVAL_MS,
    run: (signal) =>
      exclusively(sql, 'usage.finished-days', async (lock) => {
        while (await days.sumNext(AbortSignal.any([signal, lock.signal])));
      }),
    log,
  });

  const opening: Job = { name: 'usage.buffer', start: buffer.start, stop: buffer.close };
  return {
    record: recording.record,
    wakeMover: mover.wake,
    buffer: opening,
    awaitStored: (timeoutMs) => awaitStored(buffer, timeoutMs),
    waiting: health.waiting,
    routes: (http) =>
      new Elysia({ name: 'usage' })
        .use(
          eventRoutes(http, {
            ingest: createIngest({ appender, clock }),
            retrieve: createRetrieve({
              reader: createEventReader(sql),
              awaitStoring: settled,
              keptSince: () => (retentionDays === 0 ? undefined : horizon()),
              clock,
            }),
            summarise: createSummarise({ summaries: createSummaries(sql), awaitStoring: settled, clock }),
          }),
        )
        .use(conversationEventRoutes(http, createConversationEventReader(sql)))
        .use(deadLetterRoutes(http, createDeadLetters({ store: letters, appender }))),
    jobs: [
      opening,
      health.job,
      sink.job,
      mover.job,
      finishedDays,
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
  if (nats === undefined) return createJournal({ directory, bytesMax, log });
  const { createJetStreamBuffer } = await import('./buffer/jetstream/index.ts');
  return createJetStreamBuffer({ settings: { ...nats, bytesMax }, identity, log });
}
