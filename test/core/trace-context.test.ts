// W3C Trace Context: which headers are understood, and which are ignored as the specification says.

import { expect, test } from 'bun:test';
import { parseTraceContext, renderTraceHeaders } from '../../src/core/trace-context.ts';
import { leastProcessorMs } from '../support/processor-time.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${SPAN}-01`;

test('a valid traceparent names the trace, the span and whether it is sampled', () => {
  const context = { traceId: TRACE, spanId: SPAN, state: undefined };
  expect(parseTraceContext(VALID, null)).toEqual({ ...context, isSampled: true });
  expect(parseTraceContext(`00-${TRACE}-${SPAN}-00`, null)).toEqual({ ...context, isSampled: false });
  // Only the lowest bit of the flags is defined here: others are no reason to refuse.
  expect(parseTraceContext(`00-${TRACE}-${SPAN}-fe`, null)).toEqual({ ...context, isSampled: false });
  expect(parseTraceContext(`cc-${TRACE}-${SPAN}-01-of-a-later-version`, null)).toEqual({
    ...context,
    isSampled: true,
  });
});

test('an invalid traceparent is ignored, and the tracestate with it', () => {
  const invalid = [
    '',
    'x',
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-0g`,
    `00-${TRACE}-${SPAN}-01-more`,
    `cc-${TRACE}-${SPAN}-01.more`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `${VALID}, ${VALID}`,
    ` ${VALID}x`,
    `cc-${TRACE}-${SPAN}-01-${'x'.repeat(1000)}`,
  ];
  for (const header of invalid)
    expect([header, parseTraceContext(header, 'a=1')]).toEqual([header, undefined]);
});

test('a tracestate is passed on as it is, without empty members; an invalid list is left out as a whole', () => {
  const stateOf = (header: string): string | undefined => parseTraceContext(VALID, header)?.state;
  expect(stateOf('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')).toBe('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE');
  expect(stateOf('tenant@vendor=a b, , 0t@v=1')).toBe('tenant@vendor=a b,0t@v=1');
  const many = Array.from({ length: 32 }, (_, at) => `k${at}=v`);
  expect(stateOf(many.join(','))).toBe(many.join(','));
  for (const header of [
    '',
    ',',
    'A=1',
    'a=1,a=2',
    'a=',
    'a',
    'a=b=c',
    'a=\u00e9',
    'a=1\u0000',
    [...many, 'more=v'].join(','),
    `a=${'x'.repeat(257)}`,
    `${'a'.repeat(257)}=1`,
    Array.from({ length: 30 }, (_, at) => `k${at}=${'v'.repeat(250)}`).join(','),
  ])
    expect([header, stateOf(header)]).toEqual([header, undefined]);
});

test('what is rendered is read as the same context', () => {
  const context = { traceId: TRACE, spanId: SPAN, isSampled: true, state: 'a=1' };
  const { traceparent, tracestate } = renderTraceHeaders(context);
  expect([traceparent, tracestate]).toEqual([VALID, 'a=1']);
  expect(parseTraceContext(traceparent, tracestate)).toEqual(context);
  expect(renderTraceHeaders({ ...context, state: undefined })).toEqual({ traceparent: VALID });
});

test('hostile headers cost no more than their length', () => {
  const read = (header: string) => () => {
    for (let round = 0; round < 2000; round++) parseTraceContext(VALID, header);
  };
  const short = leastProcessorMs(read(`a=${' '.repeat(400)}`));
  const long = leastProcessorMs(read(`a=${' '.repeat(4000)}`));
  // Ten times as long; quadratic work would be a hundred times as much.
  expect(long).toBeLessThan(Math.max(50, short * 40));
});
