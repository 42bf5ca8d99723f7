// How the buffer and the outbox do: for /readyz and /metrics.

import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import { counter, gauge, type Metric } from '../http/metrics.ts';
import type { ReadinessCheck } from '../http/readiness.ts';
import type { Appender } from './appender.ts';
import type { BufferMetrics, EventBuffer } from './buffer/event-buffer.ts';
import { FIGURES_INTERVAL_MS, OUTBOX_LATE_SECONDS, REFUSAL_TOLD_MS } from './limits.ts';
import type { SinkMetrics } from './sink.ts';
import type { OutboxBacklog, OutboxStore } from './store/outbox.ts';

/** The share of the buffer at which an operator should act. */
const NEARLY_FULL = 0.8;

export function createUsageHealth(parts: {
  buffer: Pick<EventBuffer, 'metrics' | 'durability'>;
  appender: Pick<Appender, 'refusedAtMs'>;
  /** Of those who store events. */
  storing: readonly SinkMetrics[];
  outbox: Pick<OutboxStore, 'backlog'>;
  /** Whether all processes have the same buffer. */
  shared: boolean;
  log: Logger;
}): { check: ReadinessCheck; metrics: Metric[]; job: Job; waiting(): number } {
  const { buffer, appender, storing, outbox, log } = parts;
  const across = parts.shared ? 'largest' : 'sum';
  const ofBuffer = { waiting_packs: across, buffer_bytes: across, buffer_bytes_max: across } as const;
  let latest: BufferMetrics = { packs: 0, bytes: 0, bytesMax: 0 };
  let backlog: OutboxBacklog = { events: 0, oldestSeconds: 0 };
  const update = async (): Promise<BufferMetrics> => (latest = await buffer.metrics());
  const updateBacklog = async (): Promise<unknown> => (backlog = await outbox.backlog());
  const sum = (name: keyof SinkMetrics): number => storing.reduce((all, metrics) => all + metrics[name], 0);

  /** Why the events are not handled as they should be; undefined where they are. */
  const degradation = (): string | undefined => {
    const durability = buffer.durability();
    const { refusedAtMs } = appender;
    if (latest.fault !== undefined)
      return `usage events can't be written: the disk of DATA_DIR/events ${latest.fault}`;
    if (refusedAtMs !== undefined && performance.now() - refusedAtMs < REFUSAL_TOLD_MS)
      return 'the buffer is there, and does not take usage events: see its log, and whether its disk is full';
    if (!durability.synced) return durability.warning;
    if (backlog.oldestSeconds > OUTBOX_LATE_SECONDS) return 'events wait in the outbox: see the log';
    return latest.bytes > latest.bytesMax * NEARLY_FULL
      ? 'the buffer of usage events is nearly full'
      : undefined;
  };

  const check: ReadinessCheck = {
    name: 'usage_events',
    essential: false,
    across: { ...ofBuffer, synced_before_acknowledged: 'every', outbox_events: 'largest' },
    async check() {
      const { packs, bytes, bytesMax } = await update();
      const metrics = {
        waiting_packs: packs,
        buffer_bytes: bytes,
        buffer_bytes_max: bytesMax,
        synced_before_acknowledged: buffer.durability().synced,
        outbox_events: backlog.events,
      };
      const detail = degradation();
      if (detail === undefined) return { state: 'ready', ...metrics };
      return { state: 'degraded', detail, ...metrics };
    },
  };

  return {
    check,
    waiting: () => latest.packs + backlog.events,
    metrics: [
      gauge(
        'atrium_usage_buffer_packs',
        'Packs of usage events that wait for the database.',
        () => latest.packs,
        across,
      ),
      gauge('atrium_usage_buffer_bytes', 'What they take in the buffer.', () => latest.bytes, across),
      counter('atrium_usage_stored_events_total', 'Usage events given to the database.', () => sum('stored')),
      counter('atrium_usage_dead_letters_total', 'Usage events that it refused.', () => sum('deadLetters')),
      counter('atrium_usage_sink_failures_total', 'Attempts to store that failed as a whole.', () =>
        sum('failures'),
      ),
      gauge(
        'atrium_usage_outbox_events',
        'Events in the outbox, which wait to be moved to the stored events.',
        () => backlog.events,
        'largest',
      ),
      gauge(
        'atrium_usage_outbox_lag_seconds',
        'For how long the oldest of them has waited.',
        () => backlog.oldestSeconds,
        'largest',
      ),
    ],
    job: createPeriodic({
      name: 'usage.metrics',
      intervalMs: FIGURES_INTERVAL_MS,
      // An unavailable part keeps its last metrics.
      run: async () => void (await Promise.allSettled([update(), updateBacklog()])),
      log,
    }),
  };
}
