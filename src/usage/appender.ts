// Group commit: requests that arrive together, or during an append, share a pack, and with it one acknowledgement of the
// buffer.

import { ServiceError, unavailable } from '../core/errors.ts';
import type { ServiceEvent } from '../core/event.ts';
import { newId } from '../core/ids.ts';
import type { TraceContext } from '../core/trace-context.ts';
import { currentTrace, endingWith, startSpan, traceHeaders } from '../core/tracing.ts';
import { type EventBuffer, PACK_BYTES_MAX } from './buffer/event-buffer.ts';
import { APPEND_GATHER_MS, WAITING_BYTES_MAX } from './limits.ts';
import { OWN_SOURCE } from './own-source.ts';
import { encodeRow, toPack } from './row.ts';

/** Rows of one request or of several that share a pack. */
type Group = { rows: Buffer[]; bytes: number; traces: TraceContext[]; done: PromiseWithResolvers<void> };

export class Appender {
  /** Monotonic time of the last refusal by the buffer; undefined after the next success. */
  refusedAtMs: number | undefined;
  private readonly buffer: Pick<EventBuffer, 'append' | 'description'>;
  private readonly waitingBytesMax: number;
  private readonly groups: Group[] = [];
  private waitingBytes = 0;
  private isSending = false;

  /** `waitingBytesMax`: bytes of rows that wait or are being appended; beyond, 503. */
  constructor(
    buffer: Pick<EventBuffer, 'append' | 'description'>,
    waitingBytesMax: number = WAITING_BYTES_MAX,
  ) {
    this.buffer = buffer;
    this.waitingBytesMax = waitingBytesMax;
  }

  /** Resolves once all rows are durable. Throws 503 where that is uncertain; some may be stored nevertheless. */
  async append(rows: readonly Buffer[]): Promise<void> {
    if (this.waitingBytes > this.waitingBytesMax)
      throw unavailable('More usage events wait than can be taken now');
    const trace = currentTrace();
    await Promise.all(new Set(rows.map((row) => this.add(row, trace))));
  }

  /** Appends events of the service itself. */
  record(events: readonly ServiceEvent[]): Promise<void> {
    return this.append(
      events.map(({ time, data, ...event }) =>
        encodeRow({
          ...event,
          id: newId(),
          source: OWN_SOURCE,
          timeMicroseconds: BigInt(time.getTime()) * 1000n,
          data: JSON.stringify(data),
          extensions: null,
          value: String(data.value),
        }),
      ),
    );
  }

  private add(row: Buffer, trace: TraceContext | undefined): Promise<void> {
    let open = this.groups.at(-1);
    if (open === undefined || open.bytes + row.length > PACK_BYTES_MAX) {
      open = { rows: [], bytes: 0, traces: [], done: Promise.withResolvers() };
      this.groups.push(open);
    }
    open.rows.push(row);
    if (trace?.isSampled && open.traces.at(-1) !== trace) open.traces.push(trace);
    open.bytes += row.length;
    this.waitingBytes += row.length;
    if (!this.isSending) void this.send();
    return open.done.promise;
  }

  /** One pack at a time, behind the requests that have arrived in this round of the event loop, or in a moment after an append. */
  private async send(): Promise<void> {
    this.isSending = true;
    await new Promise(setImmediate);
    for (let group = this.groups.shift(); group !== undefined; group = this.groups.shift()) {
      await this.appendGroup(group);
      this.waitingBytes -= group.bytes;
      if (this.groups.length === 1) await Bun.sleep(APPEND_GATHER_MS);
    }
    this.isSending = false;
  }

  private async appendGroup({ rows, traces, done }: Group): Promise<void> {
    try {
      const span = startPackSpan('publish', { buffer: this.buffer, traces, messages: rows.length });
      await endingWith(span, () => this.buffer.append(toPack(rows), span && traceHeaders(span)));
      this.refusedAtMs = undefined;
      done.resolve();
    } catch (error) {
      done.reject(error);
      if (!(error instanceof ServiceError) || error.kind !== 'unavailable') return;
      this.refusedAtMs = performance.now();
      // The appends that wait would take as long again for the same result.
      for (const each of this.groups.splice(0)) {
        this.waitingBytes -= each.bytes;
        each.done.reject(error);
      }
    }
  }
}

const LINKS_MAX = 100;

/**
 * The span of a pack, by the semantic conventions for messaging; undefined where none of the traces of its requests is sampled. It
 * continues the first of them, and links to the others.
 */
export function startPackSpan(
  name: 'publish' | 'process',
  {
    buffer: { description },
    traces,
    messages,
  }: {
    buffer: Pick<EventBuffer, 'description'>;
    traces: readonly TraceContext[];
    messages: number;
  },
): ReturnType<typeof startSpan> {
  const [first, ...others] = traces.filter(({ isSampled }) => isSampled);
  if (first === undefined) return undefined;
  const options = () => ({
    kind: name === 'publish' ? ('producer' as const) : ('consumer' as const),
    links: others.slice(0, LINKS_MAX),
    attributes: {
      'messaging.system': description.system,
      'messaging.destination.name': description.destination,
      'messaging.operation.name': name,
      'messaging.operation.type': name === 'publish' ? 'send' : 'process',
      'messaging.batch.message_count': messages,
    },
  });
  return startSpan(`${name} ${description.destination}`, options, first);
}
