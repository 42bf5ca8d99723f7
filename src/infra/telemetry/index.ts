// Tracing by the SDK of OpenTelemetry and its OTLP exporter. This folder is loaded only where a collector is configured.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { createTraceState, ROOT_CONTEXT, type SpanContext, TraceFlags, trace } from '@opentelemetry/api';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../../core/logger.ts';
import type { TraceContext } from '../../core/trace-context.ts';
import { installTracer, Span, type Tracer, type TracingFigures } from '../../core/tracing.ts';
import { endsWithin } from '../../core/wait.ts';
import type { TracingSettings } from './settings.ts';

type Log = Pick<Logger, 'info' | 'warn'>;

/** Makes spans until it is closed. A collector that is slow, down or full costs spans, which are counted, and nothing else. */
export async function startTelemetry(
  settings: TracingSettings,
  { version, log }: { version: string; log: Log },
) {
  const queue = new SpanQueue(await createExporter(settings), settings.queue, log);
  const provider = new TracerProvider({
    sampler: createSampler(settings),
    spanProcessors: [queue],
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
  });
  const sdkTracer = provider.getTracer('atrium', version);
  const start: Tracer['start'] = (name, { links, ...options }, parent) =>
    sdkTracer.startSpan(
      name,
      {
        ...options,
        links: (links ?? [])
          .filter(({ isSampled }) => isSampled)
          .map((link) => ({ context: toSpanContext(link) })),
      },
      parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, toSpanContext(parent)),
    );
  installTracer({ start, contentWorkspaces: new Set(settings.contentWorkspaces), figures: queue.figures });
  log.info({ sampler: settings.sampler, ratio: settings.ratio }, 'traces are exported');
  return {
    /** Stops making spans, and sends the waiting ones for at most `timeoutMs`. */
    async close(timeoutMs: number): Promise<void> {
      installTracer(undefined);
      await endsWithin(
        provider.shutdown().catch(() => undefined),
        timeoutMs,
      );
    },
  };
}

async function createExporter(settings: TracingSettings): Promise<SpanExporter> {
  const { url, headers, compression, timeoutMs: timeoutMillis } = settings;
  const { OTLPTraceExporter } =
    settings.protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  type Options = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>;
  return new OTLPTraceExporter({
    url,
    headers,
    timeoutMillis,
    compression: compression as NonNullable<Options['compression']>,
  });
}

/** The sampler that `OTEL_TRACES_SAMPLER` names. One that is based on the parent decides itself where there is no caller's trace. */
function createSampler({ sampler, ratio }: TracingSettings): Sampler {
  const name = sampler.replace('parentbased_', '');
  let root: Sampler = new TraceIdRatioBasedSampler(ratio);
  if (name === 'always_on') root = new AlwaysOnSampler();
  if (name === 'always_off') root = new AlwaysOffSampler();
  return name === sampler ? root : new ParentBasedSampler({ root });
}

/** The SDK's queue. Its limit includes the spans of running exports: a collector that hangs does not let the memory grow. */
class SpanQueue extends BatchSpanProcessor {
  readonly figures: TracingFigures;
  private readonly spansMax: number;

  constructor(exporter: SpanExporter, settings: TracingSettings['queue'], log: Log) {
    const figures: TracingFigures = { exported: 0, failed: 0, dropped: 0, waiting: 0 };
    super({
      exporter: countExports(exporter, figures, log),
      maxQueueSize: settings.spansMax,
      maxExportBatchSize: settings.batchMax,
      scheduledDelayMillis: settings.delayMs,
      exportTimeoutMillis: settings.timeoutMs,
    });
    this.figures = figures;
    this.spansMax = settings.spansMax;
  }

  override onEnd(span: ReadableSpan): void {
    if (this.figures.waiting >= this.spansMax) {
      this.figures.dropped += 1;
      return;
    }
    this.figures.waiting += 1;
    super.onEnd(span);
  }
}

/** Counts what becomes of spans, and logs the begin and the end of an outage. */
function countExports(exporter: SpanExporter, figures: TracingFigures, log: Log): SpanExporter {
  let reachable = true;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const succeeded = result.code === 0;
        figures.waiting -= spans.length;
        figures[succeeded ? 'exported' : 'failed'] += spans.length;
        if (reachable && !succeeded) log.warn({ err: result.error }, 'spans cannot be exported now');
        if (!reachable && succeeded) log.info({}, 'spans are exported again');
        reachable = succeeded;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

const toSpanContext = (place: TraceContext): SpanContext => ({
  traceId: place.traceId,
  spanId: place.spanId,
  traceFlags: place.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  isRemote: !(place instanceof Span),
  ...(place.state === undefined ? {} : { traceState: createTraceState(place.state) }),
});
