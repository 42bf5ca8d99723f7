// A span as the SDK's processor and exporter read it. The SDK's own span costs several microseconds more: it copies its attributes one
// by one, and asks the clock and its limits at each step.

import {
  createTraceState,
  type HrTime,
  type Link,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { TraceContext } from '../../core/trace-context.ts';
import type { Span, SpanAttributes, SpanOptions } from '../../core/tracing.ts';

/** What all spans of the process have in common. */
export type SpanSetting = Pick<ReadableSpan, 'resource' | 'instrumentationScope'> & {
  onEnd(span: ReadableSpan): void;
};

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

/** One span. Its times are those of a monotonic clock, from a start of its trace that the clock on the wall says. */
export class RecordedSpan implements Span, ReadableSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled = true;
  readonly state: string | undefined;
  name: string;
  readonly kind: SpanKind;
  readonly parentSpanContext?: SpanContext;
  readonly attributes: Record<string, string | number | boolean | string[]> = {};
  readonly links: Link[];
  readonly events = [];
  status: ReadableSpan['status'] = { code: SpanStatusCode.UNSET };
  ended = false;
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  /** Adds to `performance.now()`; that of the first span of the trace in this process. */
  readonly epochMs: number;
  private readonly startMs = performance.now();
  private endMs = 0;
  private readonly setting: SpanSetting;

  constructor(
    setting: SpanSetting,
    ids: { traceId: string; spanId: string },
    { name, options, parent }: { name: string; options: SpanOptions; parent: TraceContext | undefined },
  ) {
    this.setting = setting;
    this.traceId = ids.traceId;
    this.spanId = ids.spanId;
    this.state = parent?.state;
    this.name = name;
    this.kind = KINDS[options.kind ?? 'internal'];
    const isLocal = parent instanceof RecordedSpan;
    this.epochMs = isLocal ? parent.epochMs : Date.now() - this.startMs;
    if (parent !== undefined) this.parentSpanContext = toSpanContext(parent, !isLocal);
    const links = options.links?.filter(({ isSampled }) => isSampled) ?? [];
    this.links = links.map((context) => ({ context: toSpanContext(context, false) }));
    if (options.attributes !== undefined) this.set(options.attributes);
  }

  get resource(): ReadableSpan['resource'] {
    return this.setting.resource;
  }

  get instrumentationScope(): ReadableSpan['instrumentationScope'] {
    return this.setting.instrumentationScope;
  }

  get startTime(): HrTime {
    return toHrTime(this.epochMs + this.startMs);
  }

  get endTime(): HrTime {
    return toHrTime(this.epochMs + this.endMs);
  }

  get duration(): HrTime {
    return toHrTime(this.endMs - this.startMs);
  }

  spanContext(): SpanContext {
    return toSpanContext(this, false);
  }

  rename(name: string): void {
    this.name = name;
  }

  set(attributes: SpanAttributes): void {
    for (const [name, value] of Object.entries(attributes))
      if (value !== undefined) this.attributes[name] = typeof value === 'object' ? [...value] : value;
  }

  fail(type: string): void {
    this.attributes['error.type'] = type;
    this.status = { code: SpanStatusCode.ERROR };
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.endMs = performance.now();
    this.setting.onEnd(this);
  }
}

const toSpanContext = (
  { traceId, spanId, isSampled, state }: TraceContext,
  isRemote: boolean,
): SpanContext => ({
  traceId,
  spanId,
  traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  isRemote,
  ...(state === undefined ? {} : { traceState: createTraceState(state) }),
});

function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)];
}
