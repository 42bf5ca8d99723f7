// The buffer of a service that is more than one machine: a JetStream work queue, shared by every process.

import { ErrorCode, type JetStreamManager, type Msg, type NatsConnection, NatsError } from 'nats';
import { tooLarge, unavailable } from '../../../core/errors.ts';
import { endsWithin } from '../../../core/lifecycle.ts';
import type { Logger } from '../../../core/logger.ts';
import { linkNats, type NatsLink } from '../../../infra/nats/connection.ts';
import { APPEND_TIMEOUT_MS, type Delivery, type Durability, type EventBuffer } from '../event-buffer.ts';
import { monitorOf, readDurability } from './durability.ts';
import { pull } from './pull.ts';
import {
  CONSUMER,
  prepareStream,
  ServerRefused,
  type StreamSettings,
  streamOf,
  subjectOf,
} from './stream.ts';

export type JetStreamSettings = StreamSettings & {
  url: string;
  creds: string | undefined;
  monitorUrl: string | undefined;
};

const START_WAIT_MS = 2500;
const PREPARE_RETRY_MS = 500;
const ACK_TIMEOUT_MS = 5000;
const RELEASE_DELAY_MS = 500;
const FIGURES_TIMEOUT_MS = 1000;
/** Messages of one pull; a pack takes at most half a megabyte. */
const PULL_BATCH = 64;
/** The least that a server takes for an expiry to be worth it. */
const EXPIRES_MS_MIN = 100;

export function createJetStreamBuffer(deps: { settings: JetStreamSettings; log: Logger }): EventBuffer {
  const { settings, log } = deps;
  const stream = streamOf(settings.streamPrefix);
  const subject = subjectOf(settings.streamPrefix);
  let link: NatsLink | undefined;
  let ready: { connection: NatsConnection; manager: JetStreamManager } | undefined;
  let preparing: Promise<void> | undefined;
  let refusal: ServerRefused | undefined;
  let durability: Durability | undefined;
  const monitor = monitorOf(settings.monitorUrl, settings.url);

  const prepare = (connection: NatsConnection): Promise<void> => {
    preparing ??= prepareUntilDone(connection).finally(() => {
      preparing = undefined;
    });
    return preparing;
  };
  const prepareUntilDone = async (connection: NatsConnection): Promise<void> => {
    while (link?.connected() === connection) {
      try {
        const manager = await prepareStream(connection, settings);
        const found = await readDurability(monitor);
        if (!found.synced && (durability === undefined || durability.synced)) log.warn({}, found.warning);
        durability = found;
        refusal = undefined;
        ready = { connection, manager };
        return;
      } catch (error) {
        ready = undefined;
        if (error instanceof ServerRefused) {
          if (refusal?.message !== error.message) log.error({}, error.message);
          refusal = error;
        } else log.warn({ err: error }, 'the stream of usage events is not ready yet');
      }
      await Bun.sleep(PREPARE_RETRY_MS);
    }
  };
  const onConnect = (connection: NatsConnection): void => {
    // Another server may answer at the address now.
    ready = undefined;
    void prepare(connection);
  };
  const require = (): NonNullable<typeof ready> => {
    if (ready === undefined || link?.connected() !== ready.connection) throw away(refusal);
    return ready;
  };
  /** A stream that somebody has deleted is made anew. */
  const onFailure = (connection: NatsConnection, error: unknown): void => {
    if (isMissing(error)) onConnect(connection);
  };

  return {
    async start() {
      link = linkNats({ url: settings.url, creds: settings.creds, name: 'atrium', log, onConnect });
      const until = performance.now() + START_WAIT_MS;
      while (performance.now() < until && ready === undefined && refusal === undefined) await Bun.sleep(10);
      if (refusal === undefined) return;
      await link.close();
      throw refusal;
    },
    async append(pack) {
      const { connection } = require();
      try {
        await connection.jetstream().publish(subject, pack, { timeout: APPEND_TIMEOUT_MS });
      } catch (error) {
        onFailure(connection, error);
        if (error instanceof NatsError && error.code === ErrorCode.MaxPayloadExceeded) {
          throw tooLarge('The event is larger than the message queue takes', { cause: error });
        }
        throw isFull(error) ? full(error) : away(error);
      }
    },
    async fetch({ bytesMax, waitMs }) {
      const { connection } = require();
      const at = { stream, consumer: CONSUMER };
      const deliveries: Delivery[] = [];
      let bytes = 0;
      const take = (messages: readonly Msg[]): boolean => {
        for (const message of messages) {
          deliveries.push({ pack: message.data, receipt: message.reply });
          bytes += message.data.length;
        }
        return messages.length > 0 && bytes < bytesMax;
      };
      while (take(await pull(connection, { ...at, batch: PULL_BATCH, noWait: true })));
      if (deliveries.length === 0 && waitMs >= EXPIRES_MS_MIN) {
        take(await pull(connection, { ...at, batch: 1, expiresMs: waitMs }));
      }
      return deliveries;
    },
    async acknowledge(deliveries) {
      const { connection } = require();
      const confirmed = deliveries.map((delivery) =>
        connection.request(receiptOf(delivery), '+ACK', { timeout: ACK_TIMEOUT_MS }),
      );
      await Promise.all(confirmed);
    },
    async release(deliveries) {
      const { connection } = require();
      const later = `-NAK {"delay": ${RELEASE_DELAY_MS * 1_000_000}}`;
      for (const delivery of deliveries) connection.publish(receiptOf(delivery), later);
    },
    async figures() {
      const { manager } = require();
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(away()), FIGURES_TIMEOUT_MS);
      try {
        const { state, config } = await Promise.race([manager.streams.info(stream), late]);
        return { packs: state.messages, bytes: state.bytes, bytesMax: config.max_bytes };
      } finally {
        clearTimeout(timer);
      }
    },
    durability: () => durability ?? { synced: false, warning: 'NATS has not been reached yet' },
    sinkLock: () => undefined,
    async close() {
      const closing = link?.close();
      link = undefined;
      if (closing !== undefined) await endsWithin(closing, ACK_TIMEOUT_MS);
    },
  };
}

const receiptOf = (delivery: Delivery): string => delivery.receipt as string;

/** No stream listens to the subject, or there is none of the name. */
const isMissing = (error: unknown): boolean =>
  error instanceof NatsError &&
  ((error.code === ErrorCode.NoResponders && error.api_error === undefined) || error.code === '404');

/** JetStream's error 10077: "maximum bytes exceeded" and the like. */
const isFull = (error: unknown): boolean =>
  error instanceof NatsError && (error.api_error?.err_code === 10_077 || /maximum bytes/.test(error.message));

const away = (cause?: unknown) => unavailable('Usage events cannot be taken now', { cause });
const full = (cause: unknown) =>
  unavailable('Usage events cannot be taken now: the buffer is full', { cause });
