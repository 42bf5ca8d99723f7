// The buffer of a service that is more than one machine: a JetStream work queue, shared by every process.

import { ErrorCode, headers, type MsgHdrs, type NatsConnection, NatsError } from 'nats';
import { tooLarge, unavailable } from '../../../core/errors.ts';
import { parseTraceContext, type TraceHeaders } from '../../../core/trace-context.ts';
import { abortable, endsWithin, within } from '../../../core/wait.ts';
import {
  APPEND_TIMEOUT_MS,
  type BufferMetrics,
  type Delivery,
  type Durability,
  EventBuffer,
  type FetchLimits,
} from '../event-buffer.ts';
import { type Pull, pull } from './pull.ts';
import { createSession, type JetStreamSettings, type Prepared, type SessionDeps } from './session.ts';
import { CONSUMER, databaseOf, streamOf, subjectOf } from './stream.ts';

export type { JetStreamSettings };

/** How long an append, a pull and an acknowledgement may take at most, where the server answers slowly. */
const SLOW_MS_MAX = 10_000;
/** How long a pull may be silent beyond the time that the server was asked to wait. */
const PULL_GRACE_MS = 1000;
const RELEASE_DELAY_MS = 500;
const FIGURES_TIMEOUT_MS = 1000;

export class JetStreamBuffer extends EventBuffer {
  readonly description: { system: string; destination: string };
  private readonly session: ReturnType<typeof createSession>;
  private readonly stream: string;
  private readonly appending = new Patience(APPEND_TIMEOUT_MS, SLOW_MS_MAX);
  private readonly pulling = new Patience(PULL_GRACE_MS, SLOW_MS_MAX);
  /** Receipts of the packs that the caller is processing. */
  private readonly held = new Set<string>();

  constructor(deps: SessionDeps) {
    super();
    this.stream = streamOf(deps.settings.streamPrefix);
    this.description = { system: 'nats', destination: subjectOf(deps.settings.streamPrefix) };
    this.session = createSession(deps);
  }

  start(): Promise<void> {
    return this.session.start();
  }

  private prepared(): Prepared {
    const prepared = this.session.prepared();
    if (prepared === undefined) throw away(this.session.refusal());
    return prepared;
  }

  /** Delivered packs can be acknowledged while the stream is being prepared. */
  private connection(): NatsConnection {
    const connection = this.session.connected();
    if (connection === undefined) throw away();
    return connection;
  }

  async append(pack: Uint8Array, trace?: TraceHeaders): Promise<void> {
    const { client, lost } = this.prepared();
    const sentAt = performance.now();
    const acknowledged = client.publish(this.description.destination, pack, {
      timeout: SLOW_MS_MAX,
      ...headersOf(trace),
    });
    // An answer that comes too late for its caller shows that the server is slow, and not gone.
    const hear = (): void => {
      this.session.answered();
      this.appending.answered(performance.now() - sentAt);
    };
    acknowledged.then(hear, () => undefined);
    try {
      await within(abortable(acknowledged, lost), this.appending.ms, () => {
        throw NatsError.errorForCode(ErrorCode.Timeout);
      });
    } catch (error) {
      this.session.failed(error, sentAt);
      throw toServiceError(error);
    }
  }

  async fetch({ bytesMax, packsMax, waitMs }: FetchLimits): Promise<Delivery[]> {
    const waiting = await this.pull({ batch: packsMax, bytesMax, waitMs: 0 });
    if (waiting.length > 0) return waiting;
    // The first message to come, or a message that is larger than the whole request; and messages that came with it.
    const first = await this.pull({ batch: 1, waitMs });
    const left = bytesMax - first.reduce((sum, { pack }) => sum + pack.length, 0);
    if (first.length === 0 || left <= 0 || packsMax === 1) return first;
    const more = await this.pull({ batch: packsMax - 1, bytesMax: left, waitMs: 0 }).catch(() => []);
    return [...first, ...more];
  }

  private async pull(request: Pick<Pull, 'batch' | 'bytesMax' | 'waitMs'>): Promise<Delivery[]> {
    const { connection, lost } = this.prepared();
    const sentAt = performance.now();
    const graceMs = Math.max(this.pulling.ms, this.appending.ms);
    try {
      const own = { stream: this.stream, consumer: CONSUMER, graceMs, lost };
      const messages = await pull(connection, { ...own, ...request });
      this.session.answered();
      if (request.waitMs === 0) this.pulling.answered(performance.now() - sentAt);
      return messages.map(({ data, reply = '', headers }) => {
        this.held.add(reply);
        const trace = parseTraceContext(headers?.get('traceparent'), headers?.get('tracestate'));
        return { pack: data, receipt: reply, trace };
      });
    } catch (error) {
      // Messages that come later are delivered again only after a while.
      if (isTimeout(error)) this.pulling.extend();
      this.session.failed(error, sentAt);
      throw error;
    }
  }

  async acknowledge(deliveries: readonly Delivery[]): Promise<void> {
    const connection = this.connection();
    const confirmed = deliveries.map((delivery) => {
      const receipt = receiptOf(delivery);
      this.held.delete(receipt);
      return connection.request(receipt, '+ACK', { timeout: SLOW_MS_MAX });
    });
    await Promise.all(confirmed);
  }

  async release(deliveries: readonly Delivery[]): Promise<void> {
    const connection = this.connection();
    for (const delivery of deliveries) giveBack(connection, receiptOf(delivery), RELEASE_DELAY_MS);
    for (const delivery of deliveries) this.held.delete(receiptOf(delivery));
  }

  async metrics(): Promise<BufferMetrics> {
    const { manager, database } = this.prepared();
    const asked = manager.streams.info(this.stream);
    if (!(await endsWithin(asked, FIGURES_TIMEOUT_MS))) throw away();
    const { state, config } = await asked;
    // Of two services that adopt a stream of an earlier version at once, the first finds the other's mark here.
    if (databaseOf(config) !== database) {
      this.session.taken();
      throw away();
    }
    const { messages: packs, bytes, first_seq: first, last_seq: last } = state;
    return { packs, bytes, bytesMax: config.max_bytes, waiting: packs === 0 ? undefined : { first, last } };
  }

  durability(): Durability {
    return this.session.durability() ?? { synced: false, warning: 'NATS has not been reached yet' };
  }

  sinkLock(): string | undefined {
    return undefined;
  }

  async close(): Promise<void> {
    const connection = this.session.connected();
    if (connection !== undefined) for (const receipt of this.held) giveBack(connection, receipt, 0);
    this.held.clear();
    await this.session.close();
  }
}

/** How much slower than those before an answer may be. */
const FACTOR = 2;
/** The weight of an answer that is faster than those before, as in the time-out of TCP (RFC 6298). */
const SHARE = 1 / 8;

/**
 * A time limit that follows a slow server: a limit that is too short for it would be reached by every request, so that none ever
 * succeeded. It is `minMs` again after `maxMs` without any answer, because a server that is gone is not slow.
 */
class Patience {
  private readonly minMs: number;
  private readonly maxMs: number;
  private smoothedMs = 0;
  private heardAt = Number.NEGATIVE_INFINITY;

  constructor(minMs: number, maxMs: number) {
    this.minMs = minMs;
    this.maxMs = maxMs;
  }

  /** The limit at present, in milliseconds. */
  get ms(): number {
    if (performance.now() - this.heardAt > this.maxMs) return this.minMs;
    return Math.min(this.maxMs, Math.max(this.minMs, FACTOR * this.smoothedMs));
  }

  /** Must be called with the time that an answer took, also of one that came after the limit. */
  answered(tookMs: number): void {
    const more = tookMs - this.smoothedMs;
    this.hear(more > 0 ? tookMs : this.smoothedMs + SHARE * more);
  }

  /** Doubles the limit, where later answers cannot be heard. */
  extend(): void {
    this.hear(this.ms);
  }

  private hear(smoothedMs: number): void {
    this.smoothedMs = smoothedMs;
    this.heardAt = performance.now();
  }
}

const isTimeout = (error: unknown): boolean => error instanceof NatsError && error.code === ErrorCode.Timeout;

function headersOf(trace: TraceHeaders | undefined): { headers?: MsgHdrs } {
  if (trace === undefined) return {};
  const made = headers();
  for (const [name, value] of Object.entries(trace)) made.set(name, value);
  return { headers: made };
}

const receiptOf = (delivery: Delivery): string => delivery.receipt as string;

function giveBack(connection: NatsConnection, receipt: string, delayMs: number): void {
  connection.publish(receipt, delayMs === 0 ? '-NAK' : `-NAK {"delay": ${delayMs * 1_000_000}}`);
}

function toServiceError(error: unknown): Error {
  if (error instanceof NatsError && error.code === ErrorCode.MaxPayloadExceeded)
    return tooLarge('The event is larger than the message queue takes', { cause: error });
  // "maximum bytes exceeded" has the number of every failure to store.
  const description = error instanceof NatsError ? (error.api_error?.description ?? '') : '';
  const full = /^maximum \w+ exceeded/.test(description);
  if (full)
    return unavailable('Usage ingestion is temporarily unavailable: the buffer is full', { cause: error });
  return away(error);
}

const away = (cause?: unknown) => unavailable('Usage ingestion is temporarily unavailable', { cause });
