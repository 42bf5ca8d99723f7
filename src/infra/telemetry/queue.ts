// Spans on their way to the collector: the SDK's bounded queue, with a count of what becomes of them.

import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from '../../core/logger.ts';
import type { TracingFigures } from '../../core/tracing.ts';
import { endsWithin } from '../../core/wait.ts';
import { SUCCESS } from './exporter.ts';
import type { TracingSettings } from './settings.ts';

export type SpanQueue = {
  /** Never waits: with a full queue the span is dropped. */
  add(span: ReadableSpan): void;
  figures(): TracingFigures;
  close(timeoutMs: number): Promise<void>;
};

export function createSpanQueue(
  exporter: SpanExporter,
  { spansMax, batchMax, delayMs, timeoutMs }: TracingSettings['queue'],
  log: Pick<Logger, 'info' | 'warn'>,
): SpanQueue {
  const figures: TracingFigures = { exported: 0, failed: 0, dropped: 0, waiting: 0 };
  let reachable = true;
  const note = (spans: number, error: Error | undefined, succeeded: boolean): void => {
    figures.waiting -= spans;
    figures[succeeded ? 'exported' : 'failed'] += spans;
    // Once an outage.
    if (reachable && !succeeded) log.warn({ err: error }, 'spans cannot be exported now');
    else if (!reachable && succeeded) log.info({}, 'spans are exported again');
    reachable = succeeded;
  };
  const counting: SpanExporter = {
    export(spans, done) {
      exporter.export(spans, (result) => {
        note(spans.length, result.error, result.code === SUCCESS);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
  const processor = new BatchSpanProcessor({
    exporter: counting,
    maxQueueSize: spansMax,
    maxExportBatchSize: batchMax,
    scheduledDelayMillis: delayMs,
    exportTimeoutMillis: timeoutMs,
  });
  return {
    add(span) {
      // With those that an export has in hand: a collector that hangs does not let the memory grow.
      if (figures.waiting >= spansMax) {
        figures.dropped += 1;
        return;
      }
      figures.waiting += 1;
      processor.onEnd(span);
    },
    figures: () => figures,
    async close(closeTimeoutMs) {
      await endsWithin(
        processor.shutdown().catch(() => undefined),
        closeTimeoutMs,
      );
    },
  };
}
