// Tracing by the SDK of OpenTelemetry: its samplers, its queue and its encodings. This folder is loaded only where a collector is
// configured.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { SamplingDecision } from '@opentelemetry/sdk-trace';
import type { Logger } from '../../core/logger.ts';
import type { TraceContext } from '../../core/trace-context.ts';
import { installTracer, type Tracer } from '../../core/tracing.ts';
import { createExporter } from './exporter.ts';
import { createIds } from './ids.ts';
import { createSpanQueue } from './queue.ts';
import { createSampler } from './sampler.ts';
import type { TracingSettings } from './settings.ts';
import { RecordedSpan, type SpanSetting, toSpanContext } from './span.ts';

export type Telemetry = {
  /** Stops making spans, and sends the waiting ones for at most `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
};

/** Makes spans from now on. A collector that is slow, down or full costs spans, which are counted, and nothing else. */
export function startTelemetry(
  settings: TracingSettings,
  { version, log }: { version: string; log: Pick<Logger, 'info' | 'warn'> },
): Telemetry {
  const queue = createSpanQueue(createExporter(settings), settings.queue, log);
  const setting: SpanSetting = {
    resource: defaultResource().merge(
      resourceFromAttributes({
        'host.name': hostname(),
        'process.pid': process.pid,
        'service.instance.id': randomUUID(),
        'service.version': version,
        ...settings.resource,
        'service.name': settings.serviceName,
      }),
    ),
    instrumentationScope: { name: 'atrium', version },
    onEnd: queue.add,
  };
  installTracer(createTracer(settings, setting, queue.figures));
  log.info({ sampler: settings.sampler, ratio: settings.ratio }, 'traces are exported');
  return {
    async close(timeoutMs) {
      installTracer(undefined);
      await queue.close(timeoutMs);
    },
  };
}

function createTracer(settings: TracingSettings, setting: SpanSetting, figures: Tracer['figures']): Tracer {
  const ids = createIds();
  const sampler = createSampler(settings);
  const content = new Set(settings.contentWorkspaces);
  const isSampled = (traceId: string, name: string, caller: TraceContext | undefined): boolean => {
    const context =
      caller === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, toSpanContext(caller, true));
    const { decision } = sampler.shouldSample(context, traceId, name, SpanKind.SERVER, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  };
  return {
    begin(name, options, caller) {
      const traceId = caller?.traceId ?? ids.generateTraceId();
      const spanId = ids.generateSpanId();
      if (!isSampled(traceId, name, caller))
        return { traceId, spanId, isSampled: false, state: caller?.state };
      return new RecordedSpan(setting, { traceId, spanId }, { name, options: options(), parent: caller });
    },
    child: (name, options, parent) =>
      new RecordedSpan(
        setting,
        { traceId: parent.traceId, spanId: ids.generateSpanId() },
        { name, options, parent },
      ),
    showsContent: (workspaceId) => content.has(workspaceId),
    figures,
  };
}
