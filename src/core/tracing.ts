// Spans, as areas and clients make them. Without a tracer, which only a configured collector installs, each function returns after
// one comparison, and no package of OpenTelemetry is loaded.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Span as SdkSpan } from '@opentelemetry/api';
import {
  parseTraceContext,
  renderTraceHeaders,
  type TraceContext,
  type TraceHeaders,
} from './trace-context.ts';

/** Undefined values are left out. Never a secret, and never a text of people. */
export type SpanAttributes = Record<string, string | number | boolean | readonly string[] | undefined>;

/** `SpanKind` of the API, whose package is not loaded for it. */
const KINDS = { internal: 0, server: 1, client: 2, producer: 3, consumer: 4 } as const;
/** `SpanStatusCode.ERROR`. */
const ERROR = 2;

export type SpanOptions = {
  kind?: keyof typeof KINDS;
  attributes?: SpanAttributes;
  /** Spans of other traces that this one continues as well; those that are not sampled are left out. */
  links?: readonly TraceContext[];
};

/** The SDK, as this module needs it; `infra/telemetry` installs it. */
export type Tracer = {
  start(
    name: string,
    options: { kind: number; attributes: Attributes; links?: readonly TraceContext[] | undefined },
    parent: TraceContext | undefined,
  ): SdkSpan;
  /** Workspaces whose prompts and answers are attributes of their spans. */
  contentWorkspaces: ReadonlySet<string>;
  figures: TracingFigures;
};

/** Spans since the start, by what became of them, and those that wait. */
export type TracingFigures = { exported: number; failed: number; dropped: number; waiting: number };

let tracer: Tracer | undefined;
const storage = new AsyncLocalStorage<TraceContext | undefined>();

/** A span of the SDK. One that is not sampled is not exported, but has ids, which logs and further requests name. */
export class Span implements TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  readonly state: string | undefined;
  private readonly sdk: SdkSpan;

  constructor(sdk: SdkSpan) {
    const { traceId, spanId, traceFlags, traceState } = sdk.spanContext();
    this.traceId = traceId;
    this.spanId = spanId;
    this.isSampled = (traceFlags & 1) === 1;
    this.state = traceState?.serialize();
    this.sdk = sdk;
  }

  rename(name: string): void {
    this.sdk.updateName(name);
  }

  set(attributes: SpanAttributes): void {
    this.sdk.setAttributes(attributes as Attributes);
  }

  /** `type` is a word of low cardinality: the kind of a refusal, a status, the code of an error. */
  fail(type: string): void {
    this.sdk.setAttribute('error.type', type);
    this.sdk.setStatus({ code: ERROR });
  }

  /** The second and further calls have no effect. */
  end(): void {
    if (this.sdk.isRecording()) this.sdk.end();
  }
}

/** Spans are made from now on, by this tracer; by none without one. */
export function installTracer(made: Tracer | undefined): void {
  tracer = made;
}

/** Whether there is a tracer: one is installed before the service starts, or not at all. */
export const isTracing = (): boolean => tracer !== undefined;

/** The place in its trace of the work that calls; undefined outside any, and without tracing. */
export const currentTrace = (): TraceContext | undefined =>
  tracer === undefined ? undefined : storage.getStore();

/** Whether spans are made of the work that calls. */
export const isTraced = (): boolean => currentTrace()?.isSampled === true;

/** Runs work, and all that it begins, at a place in a trace; `undefined` is outside any. */
export const inTrace = <T>(context: TraceContext | undefined, work: () => T): T =>
  tracer === undefined ? work() : storage.run(context, work);

/**
 * The same for a request whose trace is not sampled: its place becomes the current one where upstreams are told of it. Work that
 * costs microseconds is given the place instead, because a context is followed by each of its promises.
 */
export const inRequestTrace = <T>(context: TraceContext | undefined, work: () => T): T =>
  context === undefined || context.isSampled ? work() : inTrace(context, work);

/** Begins the trace of a request or a job: a new one, or that of the caller where its headers are valid. Undefined without tracing. */
export function beginTrace(
  name: string,
  options: () => SpanOptions,
  request?: { readonly headers: Pick<Headers, 'get'> },
): Span | undefined {
  if (tracer === undefined) return undefined;
  const traceparent = request?.headers.get('traceparent');
  const caller =
    traceparent == null ? undefined : parseTraceContext(traceparent, request?.headers.get('tracestate'));
  return newSpan(tracer, name, options(), caller);
}

/**
 * Begins a span below the current one, or below `parent`; undefined where that is not sampled. The caller ends it. Its options are
 * made only for a sampled trace.
 */
export function startSpan(
  name: string,
  options: () => SpanOptions,
  parent: TraceContext | undefined = currentTrace(),
): Span | undefined {
  if (tracer === undefined || parent === undefined || !parent.isSampled) return undefined;
  return newSpan(tracer, name, options(), parent);
}

const newSpan = (
  { start }: Tracer,
  name: string,
  { kind = 'internal', attributes = {}, links }: SpanOptions,
  parent: TraceContext | undefined,
): Span =>
  new Span(
    start(
      name,
      {
        kind: KINDS[kind],
        attributes: attributes as Attributes,
        links: links?.filter(({ isSampled }) => isSampled),
      },
      parent,
    ),
  );

/** Does work in a span of its own, which ends with it and fails where it throws. */
export const withSpan = <T>(
  name: string,
  options: () => SpanOptions,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> => endingWith(startSpan(name, options), work);

/** Does work in a span that has begun. */
export async function endingWith<T>(
  span: Span | undefined,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (span === undefined) return work(undefined);
  try {
    return await storage.run(span, () => work(span));
  } catch (error) {
    span.fail(errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** The headers that pass a place in a trace on; undefined outside any. */
export function traceHeaders(context: TraceContext | undefined = currentTrace()): TraceHeaders | undefined {
  return context === undefined ? undefined : renderTraceHeaders(context);
}

/** The fields of a log line at a place that is not the current one, because its trace is not sampled. */
export const unsampledFields = (context: TraceContext | undefined): object =>
  context?.isSampled === false ? { trace_id: context.traceId, span_id: context.spanId } : {};

/** The `error.type` of an error: its code, its kind, or its class. Messages may contain what people wrote. */
export function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error';
  const { code, kind } = error as { code?: unknown; kind?: unknown };
  if (typeof kind === 'string') return kind;
  return typeof code === 'string' && code !== '' ? code : error.name;
}

/** Whether prompts and answers of the workspace are attributes of its spans. */
export const showsContent = (workspaceId: string): boolean =>
  tracer?.contentWorkspaces.has(workspaceId) ?? false;

export const tracingFigures = (): TracingFigures =>
  tracer?.figures ?? { exported: 0, failed: 0, dropped: 0, waiting: 0 };
