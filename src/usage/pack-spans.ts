// The spans of packs on their way through the buffer, by the semantic conventions for messaging. A pack holds the events of several
// requests: its spans continue the first sampled trace among them, and link to the others.

import type { TraceContext } from '../core/trace-context.ts';
import { type Span, startSpan } from '../core/tracing.ts';
import type { EventBuffer } from './buffer/event-buffer.ts';

const LINKS_MAX = 100;

type Pack = { buffer: Pick<EventBuffer, 'description'>; traces: readonly TraceContext[]; messages: number };

/** Undefined where none of the traces is sampled. */
export const startAppendSpan = (pack: Pack): Span | undefined =>
  startPackSpan(pack, { kind: 'producer', name: 'publish', type: 'send' });

/** Likewise. */
export const startStoreSpan = (pack: Pack): Span | undefined =>
  startPackSpan(pack, { kind: 'consumer', name: 'process', type: 'process' });

function startPackSpan(
  { buffer: { description }, traces, messages }: Pack,
  { kind, name, type }: { kind: 'producer' | 'consumer'; name: string; type: string },
): Span | undefined {
  const [first, ...others] = traces.filter(({ isSampled }) => isSampled);
  if (first === undefined) return undefined;
  const options = () => ({
    kind,
    links: others.slice(0, LINKS_MAX),
    attributes: {
      'messaging.system': description.system,
      'messaging.destination.name': description.destination,
      'messaging.operation.name': name,
      'messaging.operation.type': type,
      'messaging.batch.message_count': messages,
    },
  });
  return startSpan(`${name} ${description.destination}`, options, first);
}
