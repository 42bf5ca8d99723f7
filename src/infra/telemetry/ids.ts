// Ids of traces and spans, cut from a text of random digits that is made for some hundred of them at once: one at a time they cost more
// than the rest of a request that is not sampled.

import { randomFillSync } from 'node:crypto';
import type { IdGenerator } from '@opentelemetry/sdk-trace';

const [TRACE_DIGITS, SPAN_DIGITS] = [32, 16];
const random = Buffer.alloc(6144);

export function createIds(): IdGenerator {
  let digits = '';
  let used = 0;
  const next = (count: number): string => {
    if (used + count > digits.length) {
      digits = randomFillSync(random).toString('hex');
      used = 0;
    }
    used += count;
    return digits.slice(used - count, used);
  };
  return { generateTraceId: () => next(TRACE_DIGITS), generateSpanId: () => next(SPAN_DIGITS) };
}
