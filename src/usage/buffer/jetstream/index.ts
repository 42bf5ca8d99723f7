// The buffer of a service that is more than one machine: a JetStream work queue, shared by every process.

import { ErrorCode, type Msg, type NatsConnection, NatsError } from 'nats';
import { tooLarge, unavailable } from '../../../core/errors.ts';
import { endsWithin } from '../../../core/wait.ts';
import { APPEND_TIMEOUT_MS, type Delivery, type EventBuffer } from '../event-buffer.ts';
import { type Pull, pull } from './pull.ts';
import { createSession, type JetStreamSettings, type Prepared, type SessionDeps } from './session.ts';
import { CONSUMER, databaseOf, streamOf, subjectOf } from './stream.ts';

export type { JetStreamSettings };

const ACK_TIMEOUT_MS = 5000;
const RELEASE_DELAY_MS = 500;
const FIGURES_TIMEOUT_MS = 1000;

export function createJetStreamBuffer(deps: SessionDeps): EventBuffer {
  const { settings } = deps;
  const stream = streamOf(settings.streamPrefix);
  const subject = subjectOf(settings.streamPrefix);
  const session = createSession(deps);
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
  const pullSome = async (request: Omit<Pull, 'stream' | 'consumer'>): Promise<Msg[]> => {
    try {
      const messages = await pull(require().connection, { stream, consumer: CONSUMER, ...request });
      session.answered();
      return messages;
    } catch (error) {
      session.failed(error);
      throw error;
    }
  };
  const toDelivery = ({ data, reply = '' }: Msg): Delivery => {
    held.add(reply);
    return { pack: data, receipt: reply };
  };

  return {
    start: session.start,
    async append(pack) {
      const { client } = require();
      try {
        await client.publish(subject, pack, { timeout: APPEND_TIMEOUT_MS });
        session.answered();
      } catch (error) {
        session.failed(error);
        throw toServiceError(error);
      }
    },
    async fetch({ bytesMax, packsMax, waitMs }) {
      const waiting = await pullSome({ batch: packsMax, bytesMax, waitMs: 0 });
      if (waiting.length > 0) return waiting.map(toDelivery);
      // The first that comes, or one that is larger than all that was asked for; and what came beside it.
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
        return connection.request(receipt, '+ACK', { timeout: ACK_TIMEOUT_MS });
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
      return { packs: state.messages, bytes: state.bytes, bytesMax: config.max_bytes };
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
