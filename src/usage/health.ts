// How the buffer and the outbox do: for /readyz and /metrics.

import type { Job } from '../core/lifecycle.ts';
import type { ReadinessCheck } from '../http/health.ts';
import type { Figure } from '../http/metrics.ts';
import type { AppendFigures } from './appender.ts';
import type { BufferFigures, EventBuffer } from './buffer/event-buffer.ts';
import { FIGURES_INTERVAL_MS, OUTBOX_LATE_SECONDS, REFUSAL_TOLD_MS, SPOOL_BYTES_MAX } from './limits.ts';
import type { RecordFigures } from './record.ts';
import type { SinkFigures } from './sink.ts';
import type { Spool } from './spool.ts';
import type { OutboxBacklog, OutboxStore } from './store/outbox.ts';

/** The share of the buffer at which an operator should act. */
const NEARLY_FULL = 0.8;

export function createUsageHealth(parts: {
  buffer: Pick<EventBuffer, 'figures' | 'durability'>;
  appending: AppendFigures;
  /** Of those who store events. */
  storing: readonly SinkFigures[];
  outbox: Pick<OutboxStore, 'backlog'>;
  recording: RecordFigures;
  spool: Pick<Spool, 'waitingBytes'>;
}): { check: ReadinessCheck; figures: Figure[]; job: Job } {
  const { buffer, appending, storing, outbox, recording, spool } = parts;
  let latest: BufferFigures = { packs: 0, bytes: 0, bytesMax: 0 };
  let backlog: OutboxBacklog = { events: 0, oldestSeconds: 0 };
  let timer: ReturnType<typeof setInterval> | undefined;
  const update = async (): Promise<BufferFigures> => {
    latest = await buffer.figures();
    return latest;
  };
  const updateBacklog = async (): Promise<void> => {
    backlog = await outbox.backlog();
  };
  const sum = (name: keyof SinkFigures): number => storing.reduce((all, figures) => all + figures[name], 0);

  const check: ReadinessCheck = {
    name: 'usage_events',
    essential: false,
    async check() {
      const { packs, bytes, bytesMax, fault } = await update();
      const durability = buffer.durability();
      const figures = {
        waiting_packs: packs,
        buffer_bytes: bytes,
        buffer_bytes_max: bytesMax,
        synced_before_acknowledged: durability.synced,
        outbox_events: backlog.events,
      };
      if (fault !== undefined) {
        const detail = `usage events can't be written: the disk of DATA_DIR/events ${fault}`;
        return { state: 'degraded', detail, ...figures };
      }
      const { refusedAtMs } = appending;
      if (refusedAtMs !== undefined && performance.now() - refusedAtMs < REFUSAL_TOLD_MS) {
        return {
          state: 'degraded',
          detail:
            'the buffer is there, and does not take usage events: see its log, and whether its disk is full',
          ...figures,
        };
      }
      if (!durability.synced) return { state: 'degraded', detail: durability.warning, ...figures };
      if (recording.failing) {
        return {
          state: 'degraded',
          detail: 'the disk does not take accounts of models, which are kept for later: see the log',
          ...figures,
        };
      }
      if (backlog.oldestSeconds > OUTBOX_LATE_SECONDS)
        return { state: 'degraded', detail: 'events wait in the outbox: see the log', ...figures };
      const nearlyFull =
        bytes > bytesMax * NEARLY_FULL || spool.waitingBytes() > SPOOL_BYTES_MAX * NEARLY_FULL;
      if (nearlyFull)
        return { state: 'degraded', detail: 'the buffer of usage events is nearly full', ...figures };
      return { state: 'ready', ...figures };
    },
  };

  const figure = (name: string, help: string, type: Figure['type'], value: () => number): Figure => ({
    ...{ name: `atrium_usage_${name}`, help, type },
    values: () => [{ value: value() }],
  });
  return {
    check,
    figures: [
      figure(
        'buffer_packs',
        'Packs of usage events that wait for the database.',
        'gauge',
        () => latest.packs,
      ),
      figure('buffer_bytes', 'What they take in the buffer.', 'gauge', () => latest.bytes),
      figure('stored_events_total', 'Usage events given to the database.', 'counter', () => sum('stored')),
      figure('dead_letters_total', 'Usage events that it refused.', 'counter', () => sum('deadLetters')),
      figure('sink_failures_total', 'Attempts to store that failed as a whole.', 'counter', () =>
        sum('failures'),
      ),
      figure(
        'outbox_events',
        'Events in the outbox, which wait to be moved to the stored events.',
        'gauge',
        () => backlog.events,
      ),
      figure(
        'outbox_lag_seconds',
        'For how long the oldest of them has waited.',
        'gauge',
        () => backlog.oldestSeconds,
      ),
      figure(
        'own_events_total',
        'Events of the service without a transaction: accounts of models.',
        'counter',
        () => recording.recorded,
      ),
      figure(
        'own_events_refused_total',
        'Attempts to record one that the disk did not take; they are made again.',
        'counter',
        () => recording.refused,
      ),
      figure('own_events_waiting_bytes', 'Of these, not in the buffer yet.', 'gauge', spool.waitingBytes),
    ],
    job: {
      name: 'usage.figures',
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
