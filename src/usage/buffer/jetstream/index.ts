// The buffer of a service that is more than one machine: a JetStream work queue, shared by every process.

import { ErrorCode, headers, type Msg, type MsgHdrs, type NatsConnection, NatsError } from 'nats';
import { tooLarge, unavailable } from '../../../core/errors.ts';
import { parseTraceContext, type TraceHeaders } from '../../../core/trace-context.ts';
import { abortable, endsWithin, within } from '../../../core/wait.ts';
import { APPEND_TIMEOUT_MS, type Delivery, type EventBuffer } from '../event-buffer.ts';
import { createPatience } from './patience.ts';
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

export function createJetStreamBuffer(deps: SessionDeps): EventBuffer {
  const { settings } = deps;
  const stream = streamOf(settings.streamPrefix);
  const subject = subjectOf(settings.streamPrefix);
  const session = createSession(deps);
  const appending = createPatience({ minMs: APPEND_TIMEOUT_MS, maxMs: SLOW_MS_MAX });
  const pulling = createPatience({ minMs: PULL_GRACE_MS, maxMs: SLOW_MS_MAX });
  /** Receipts of the packs that the caller is processing. */
  const held = new Set<string>();

  const require = (): Prepared => {
    const prepared = session.prepared();
    if (prepared === undefined) throw away(session.refusal());
    return prepared;
  };
  /** Delivered packs can be acknowledged while the stream is being prepared. */
  const requireConnection = (): NatsConnection => {
    const connection = session.connected();
    if (connection === undefined) throw away();
    return connection;
  };
  const pullSome = async (request: Pick<Pull, 'batch' | 'bytesMax' | 'waitMs'>): Promise<Msg[]> => {
    const { connection, lost } = require();
    const sentAt = performance.now();
    try {
      const own = { stream, consumer: CONSUMER, graceMs: Math.max(pulling.ms(), appending.ms()), lost };
      const messages = await pull(connection, { ...own, ...request });
      session.answered();
      if (request.waitMs === 0) pulling.answered(performance.now() - sentAt);
      return messages;
    } catch (error) {
      // Messages that come later are delivered again only after a while.
      if (isTimeout(error)) pulling.extend();
      session.failed(error, sentAt);
      throw error;
    }
  };
  const toDelivery = ({ data, reply = '', headers }: Msg): Delivery => {
    held.add(reply);
    const trace = parseTraceContext(headers?.get('traceparent'), headers?.get('tracestate'));
    return { pack: data, receipt: reply, trace };
  };

  return {
    description: { system: 'nats', destination: subject },
    start: session.start,
    async append(pack, trace) {
      const { client, lost } = require();
      const sentAt = performance.now();
      const acknowledged = client.publish(subject, pack, { timeout: SLOW_MS_MAX, ...headersOf(trace) });
      // An answer that comes too late for its caller shows that the server is slow, and not gone.
      const hear = (): void => {
        session.answered();
        appending.answered(performance.now() - sentAt);
      };
      acknowledged.then(hear, () => undefined);
      try {
        await within(abortable(acknowledged, lost), appending.ms(), () => {
          throw NatsError.errorForCode(ErrorCode.Timeout);
        });
      } catch (error) {
        session.failed(error, sentAt);
        throw toServiceError(error);
      }
    },
    async fetch({ bytesMax, packsMax, waitMs }) {
      const waiting = await pullSome({ batch: packsMax, bytesMax, waitMs: 0 });
      if (waiting.length > 0) return waiting.map(toDelivery);
      // The first message to come, or a message that is larger than the whole request; and messages that came with it.
      const first = (await pullSome({ batch: 1, waitMs })).map(toDelivery);
      const left = bytesMax - first.reduce((sum, { pack }) => sum + pack.length, 0);
      if (first.length === 0 || left <= 0 || packsMax === 1) return first;
      const more = await pullSome({ batch: packsMax - 1, bytesMax: left, waitMs: 0 }).catch(() => []);
      return [...first, ...more.map(toDelivery)];
    },
    async acknowledge(deliveries) {
      const connection = requireConnection();
      const confirmed = deliveries.map((delivery) => {
        const receipt = receiptOf(delivery);
        held.delete(receipt);
        return connection.request(receipt, '+ACK', { timeout: SLOW_MS_MAX });
      });
      await Promise.all(confirmed);
    },
    async release(deliveries) {
      const connection = requireConnection();
      for (const delivery of deliveries) giveBack(connection, receiptOf(delivery), RELEASE_DELAY_MS);
      for (const delivery of deliveries) held.delete(receiptOf(delivery));
    },
    async metrics() {
      const { manager, database } = require();
      const asked = manager.streams.info(stream);
      if (!(await endsWithin(asked, FIGURES_TIMEOUT_MS))) throw away();
      const { state, config } = await asked;
      // Of two services that adopt a stream of an earlier version at once, the first finds the other's mark here.
      if (databaseOf(config) !== database) {
        session.taken();
        throw away();
      }
      const { messages: packs, bytes, first_seq: first, last_seq: last } = state;
      return { packs, bytes, bytesMax: config.max_bytes, waiting: packs === 0 ? undefined : { first, last } };
    },
    durability: () => session.durability() ?? { synced: false, warning: 'NATS has not been reached yet' },
    sinkLock: () => undefined,
    async close() {
      const connection = session.connected();
      if (connection !== undefined) for (const receipt of held) giveBack(connection, receipt, 0);
      held.clear();
      await session.close();
    },
  };
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
  if (full) return unavailable('Usage events cannot be taken now: the buffer is full', { cause: error });
  return away(error);
}

const away = (cause?: unknown) => unavailable('Usage events cannot be taken now', { cause });
