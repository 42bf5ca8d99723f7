// The place of a unit of work in a trace, as W3C Trace Context (https://www.w3.org/TR/trace-context/) writes it in headers.

export type TraceContext = {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 of them, likewise. */
  readonly spanId: string;
  /** Whether the spans of the trace are exported. */
  readonly isSampled: boolean;
  /** The `tracestate` header: entries of other tracing systems, which are passed on as they are. */
  readonly state?: string | undefined;
};

/** Headers of requests and messages that pass a trace on. */
export type TraceHeaders = { traceparent: string; tracestate?: string };

/** Later versions may append fields; version `ff` is invalid. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const STATE_MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const STATE_MEMBERS_MAX = 32;
/** A vendor must pass on 512 characters. A longer list is ignored as a whole. */
const STATE_LENGTH_MAX = 4096;
/** A header with a value of several hundred characters is certainly not a traceparent that this version understands. */
const TRACEPARENT_LENGTH_MAX = 256;

/** The context of a caller; undefined where the header is absent or invalid, in which case the state is ignored, too. */
export function parseTraceContext(
  traceparent: string | null | undefined,
  tracestate: string | null | undefined,
): TraceContext | undefined {
  if (traceparent == null || traceparent.length > TRACEPARENT_LENGTH_MAX) return undefined;
  const [, version, traceId, spanId, flags, rest] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (version === '00' && rest !== undefined) return undefined;
  const isSampled = (Number.parseInt(flags ?? '0', 16) & 1) === 1;
  return { traceId, spanId, isSampled, state: parseState(tracestate) };
}

/** The valid list without empty members; undefined for an absent, empty or invalid one. */
function parseState(header: string | null | undefined): string | undefined {
  if (header == null || header.length > STATE_LENGTH_MAX) return undefined;
  const members = header
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  const names = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  const isValid =
    members.length <= STATE_MEMBERS_MAX &&
    names.size === members.length &&
    members.every((member) => STATE_MEMBER.test(member));
  return isValid && members.length > 0 ? members.join(',') : undefined;
}

export function renderTraceHeaders({ traceId, spanId, isSampled, state }: TraceContext): TraceHeaders {
  const traceparent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
  return state === undefined ? { traceparent } : { traceparent, tracestate: state };
}
