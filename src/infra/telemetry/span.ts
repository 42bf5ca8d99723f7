// A span as the SDK's processor and exporters read it. It keeps what it is given, and becomes what they want only when it is exported: the
// SDK's own span copies its attributes one by one, and asks the clock and its limits at each step.

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

const NO_LINKS: readonly TraceContext[] = [];
const NO_EVENTS: ReadableSpan['events'] = [];
const UNSET: ReadableSpan['status'] = { code: SpanStatusCode.UNSET };
const ERROR: ReadableSpan['status'] = { code: SpanStatusCode.ERROR };

/** One span. Its times are those of a monotonic clock, from a start of its trace that the clock on the wall says. */
export class RecordedSpan implements Span, ReadableSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled = true;
  readonly state: string | undefined;
  name: string;
  readonly kind: SpanKind;
  readonly parent: TraceContext | undefined;
  /** The traces of its links. */
  readonly linked: readonly TraceContext[];
  /** The attributes as they were given. Of one that is given twice the later value counts. */
  readonly parts: SpanAttributes[] = [];
  status = UNSET;
  ended = false;
  readonly events = NO_EVENTS;
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  /** Adds to `performance.now()`; that of the first span of the trace in this process. */
  readonly epochMs: number;
  readonly startMs = performance.now();
  endMs = 0;
  private readonly setting: SpanSetting;
  /** The attributes, once they have been asked for, which an exporter does several times. */
  private joined: ReadableSpan['attributes'] | undefined;

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
    this.parent = parent;
    this.epochMs = parent instanceof RecordedSpan ? parent.epochMs : Date.now() - this.startMs;
    this.linked = options.links?.filter(({ isSampled }) => isSampled) ?? NO_LINKS;
    if (options.attributes !== undefined) this.parts.push(options.attributes);
  }

  rename(name: string): void {
    this.name = name;
  }

  set(attributes: SpanAttributes): void {
    this.parts.push(attributes);
  }

  fail(type: string): void {
    this.parts.push({ 'error.type': type });
    this.status = ERROR;
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.endMs = performance.now();
    this.setting.onEnd(this);
  }

  // ---- as it is exported

  /** Whether the parent is a span of another process. */
  get isParentRemote(): boolean {
    return this.parent !== undefined && !(this.parent instanceof RecordedSpan);
  }

  get attributes(): ReadableSpan['attributes'] {
    if (this.joined !== undefined) return this.joined;
    this.joined = {};
    for (const part of this.parts)
      for (const name in part)
        if (part[name] !== undefined) this.joined[name] = part[name] as ReadableSpan['attributes'][string];
    return this.joined;
  }

  get resource(): ReadableSpan['resource'] {
    return this.setting.resource;
  }

  get instrumentationScope(): ReadableSpan['instrumentationScope'] {
    return this.setting.instrumentationScope;
  }

  /** Undefined for the first span of a trace, which the SDK's type would have as the absence of the member. */
  get parentSpanContext(): SpanContext {
    return (this.parent && toSpanContext(this.parent, this.isParentRemote)) as SpanContext;
  }

  get links(): Link[] {
    return this.linked.map((context) => ({ context: toSpanContext(context, false) }));
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
}

export const toSpanContext = (
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
