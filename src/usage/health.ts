// How the buffer and the outbox do: for /readyz and /metrics.

import type { Job } from '../core/lifecycle.ts';
import type { ReadinessCheck } from '../http/health.ts';
import type { Metric } from '../http/metrics.ts';
import type { AppendMetrics } from './appender.ts';
import type { BufferMetrics, EventBuffer } from './buffer/event-buffer.ts';
import { FIGURES_INTERVAL_MS, OUTBOX_LATE_SECONDS, REFUSAL_TOLD_MS, SPOOL_BYTES_MAX } from './limits.ts';
import type { RecordMetrics } from './record.ts';
import type { SinkMetrics } from './sink.ts';
import type { Spool } from './spool.ts';
import type { OutboxBacklog, OutboxStore } from './store/outbox.ts';

/** The share of the buffer at which an operator should act. */
const NEARLY_FULL = 0.8;

export function createUsageHealth(parts: {
  buffer: Pick<EventBuffer, 'metrics' | 'durability'>;
  appending: AppendMetrics;
  /** Of those who store events. */
  storing: readonly SinkMetrics[];
  outbox: Pick<OutboxStore, 'backlog'>;
  recording: RecordMetrics;
  spool: Pick<Spool, 'waitingBytes'>;
}): { check: ReadinessCheck; metrics: Metric[]; job: Job } {
  const { buffer, appending, storing, outbox, recording, spool } = parts;
  let latest: BufferMetrics = { packs: 0, bytes: 0, bytesMax: 0 };
  let backlog: OutboxBacklog = { events: 0, oldestSeconds: 0 };
  let timer: ReturnType<typeof setInterval> | undefined;
  const update = async (): Promise<BufferMetrics> => {
    latest = await buffer.metrics();
    return latest;
  };
  const updateBacklog = async (): Promise<void> => {
    backlog = await outbox.backlog();
  };
  const sum = (name: keyof SinkMetrics): number => storing.reduce((all, metrics) => all + metrics[name], 0);

  const check: ReadinessCheck = {
    name: 'usage_events',
    essential: false,
    async check() {
      const { packs, bytes, bytesMax, fault } = await update();
      const durability = buffer.durability();
      const metrics = {
        waiting_packs: packs,
        buffer_bytes: bytes,
        buffer_bytes_max: bytesMax,
        synced_before_acknowledged: durability.synced,
        outbox_events: backlog.events,
      };
      if (fault !== undefined) {
        const detail = `usage events can't be written: the disk of DATA_DIR/events ${fault}`;
        return { state: 'degraded', detail, ...metrics };
      }
      const { refusedAtMs } = appending;
      if (refusedAtMs !== undefined && performance.now() - refusedAtMs < REFUSAL_TOLD_MS) {
        return {
          state: 'degraded',
          detail:
            'the buffer is there, and does not take usage events: see its log, and whether its disk is full',
          ...metrics,
        };
      }
      if (!durability.synced) return { state: 'degraded', detail: durability.warning, ...metrics };
      if (recording.failing) {
        return {
          state: 'degraded',
          detail: 'the disk does not take accounts of models, which are kept for later: see the log',
          ...metrics,
        };
      }
      if (backlog.oldestSeconds > OUTBOX_LATE_SECONDS)
        return { state: 'degraded', detail: 'events wait in the outbox: see the log', ...metrics };
      const nearlyFull =
        bytes > bytesMax * NEARLY_FULL || spool.waitingBytes() > SPOOL_BYTES_MAX * NEARLY_FULL;
      if (nearlyFull)
        return { state: 'degraded', detail: 'the buffer of usage events is nearly full', ...metrics };
      return { state: 'ready', ...metrics };
    },
  };

  const metric = (name: string, help: string, type: Metric['type'], value: () => number): Metric => ({
    ...{ name: `atrium_usage_${name}`, help, type },
    values: () => [{ value: value() }],
  });
  return {
    check,
    metrics: [
      metric(
        'buffer_packs',
        'Packs of usage events that wait for the database.',
        'gauge',
        () => latest.packs,
      ),
      metric('buffer_bytes', 'What they take in the buffer.', 'gauge', () => latest.bytes),
      metric('stored_events_total', 'Usage events given to the database.', 'counter', () => sum('stored')),
      metric('dead_letters_total', 'Usage events that it refused.', 'counter', () => sum('deadLetters')),
      metric('sink_failures_total', 'Attempts to store that failed as a whole.', 'counter', () =>
        sum('failures'),
      ),
      metric(
        'outbox_events',
        'Events in the outbox, which wait to be moved to the stored events.',
        'gauge',
        () => backlog.events,
      ),
      metric(
        'outbox_lag_seconds',
        'For how long the oldest of them has waited.',
        'gauge',
        () => backlog.oldestSeconds,
      ),
      metric(
        'own_events_total',
        'Events of the service without a transaction: accounts of models.',
        'counter',
        () => recording.recorded,
      ),
      metric(
        'own_events_refused_total',
        'Attempts to record one that the disk did not take; they are made again.',
        'counter',
        () => recording.refused,
      ),
      metric('own_events_waiting_bytes', 'Of these, not in the buffer yet.', 'gauge', spool.waitingBytes),
    ],
    job: {
      name: 'usage.metrics',
      start() {
        // An unavailable part keeps its last metrics.
        timer = setInterval(() => {
          for (const each of [update(), updateBacklog()]) each.catch(() => undefined);
        }, FIGURES_INTERVAL_MS);
      },
      async stop() {
        clearInterval(timer);
      },
    },
  };
}
