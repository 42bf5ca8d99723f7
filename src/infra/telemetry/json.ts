// Spans as OTLP's JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), joined as text. The SDK makes an object of each
// attribute first, and writes each field that has its default.

import { SpanStatusCode } from '@opentelemetry/api';
import type { SpanAttributes } from '../../core/tracing.ts';
import type { RecordedSpan } from './span.ts';

type Value = Exclude<SpanAttributes[string], undefined>;

/** A request with spans of one process. */
export function renderSpans([first, ...others]: readonly [RecordedSpan, ...RecordedSpan[]]): string {
  const { resource, instrumentationScope } = first;
  const attributes = renderAttributes([resource.attributes as SpanAttributes]);
  let spans = renderSpan(first);
  for (const span of others) spans += `,${renderSpan(span)}`;
  return (
    `{"resourceSpans":[{"resource":{"attributes":[${attributes}]},` +
    `"scopeSpans":[{"scope":${JSON.stringify(instrumentationScope)},"spans":[${spans}]}]}]}`
  );
}

/** Of `SpanFlags`: that the span says whether its parent is of another process, and that it is. */
const [HAS_IS_REMOTE, IS_REMOTE] = [0x100, 0x200];

function renderSpan(span: RecordedSpan): string {
  const { traceId, spanId, parent, state, name, kind, epochMs, startMs, endMs, status, linked } = span;
  const flags = 1 | HAS_IS_REMOTE | (span.isParentRemote ? IS_REMOTE : 0);
  let text = `{"traceId":"${traceId}","spanId":"${spanId}","flags":${flags},`;
  if (parent !== undefined) text += `"parentSpanId":"${parent.spanId}",`;
  if (state !== undefined) text += `"traceState":${JSON.stringify(state)},`;
  if (status.code !== SpanStatusCode.UNSET) text += `"status":{"code":${status.code}},`;
  if (linked.length > 0) text += `"links":[${linked.map(renderLink).join(',')}],`;
  // The protocol counts kinds from 1, as 0 is the unknown one.
  return (
    `${text}"name":${JSON.stringify(name)},"kind":${kind + 1},"startTimeUnixNano":"${toNanoseconds(epochMs + startMs)}",` +
    `"endTimeUnixNano":"${toNanoseconds(epochMs + endMs)}","attributes":[${renderAttributes(span.parts)}]}`
  );
}

const renderLink = ({ traceId, spanId, state }: RecordedSpan['linked'][number]): string =>
  `{"traceId":"${traceId}","spanId":"${spanId}","flags":${1 | HAS_IS_REMOTE}${state === undefined ? '' : `,"traceState":${JSON.stringify(state)}`}}`;

/** Of milliseconds, whose number would have too few digits for it. */
function toNanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${String(Math.floor((ms - whole) * 1e6)).padStart(6, '0')}`;
}

function renderAttributes(parts: readonly SpanAttributes[]): string {
  let text = '';
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at] as SpanAttributes;
    for (const name in part) {
      const value = part[name];
      if (value === undefined || isGivenAfter(at, name, parts)) continue;
      text += `${text === '' ? '' : ','}${beginOf(name)}${renderValue(value)}}`;
    }
  }
  return text;
}

function isGivenAfter(at: number, name: string, parts: readonly SpanAttributes[]): boolean {
  for (let later = at + 1; later < parts.length; later++) if (parts[later]?.[name] !== undefined) return true;
  return false;
}

/** Names are constants of the code, and those that the operator gives to the process. */
const begins = new Map<string, string>();

function beginOf(name: string): string {
  let begin = begins.get(name);
  if (begin === undefined) {
    begin = `{"key":${JSON.stringify(name)},"value":`;
    begins.set(name, begin);
  }
  return begin;
}

function renderValue(value: Value): string {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`;
  if (typeof value === 'boolean') return `{"boolValue":${value}}`;
  if (typeof value === 'object') return `{"arrayValue":{"values":[${value.map(renderValue).join(',')}]}}`;
  return Number.isInteger(value) ? `{"intValue":${value}}` : `{"doubleValue":${JSON.stringify(value)}}`;
}
