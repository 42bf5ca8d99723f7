// The stream and its consumer on the server: made, brought up to date, and read back.

import {
  AckPolicy,
  DiscardPolicy,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';

export type StreamSettings = { streamPrefix: string; replicas: number; bytesMax: number };

/** A server that cannot keep what it acknowledges; the message is one line. */
export class ServerRefused extends Error {}

export const CONSUMER = 'sink';
export const streamOf = (prefix: string): string => `${prefix}_EVENTS`;
export const subjectOf = (prefix: string): string => `${prefix}.events`;

/** Far beyond the slowest batch; what a killed sink had is delivered again after it. */
const ACK_WAIT_MS = 60_000;
const DELIVERED_MAX = 20_000;
const API_TIMEOUT_MS = 2000;

/** The first that can sync before it acknowledges. */
const OLDEST = { major: 2, minor: 10 };

/**
 * Throws `ServerRefused` for a server that is too old, has no JetStream, or keeps the stream otherwise than it was
 * asked to.
 */
export async function prepareStream(
  connection: NatsConnection,
  settings: StreamSettings,
): Promise<JetStreamManager> {
  refuseOld(connection.info?.version ?? '0');
  const manager = await openManager(connection);
  const wanted = wantedStream(settings);
  const name = streamOf(settings.streamPrefix);
  const found = await manager.streams.info(name).catch(absent);
  if (found === undefined) await manager.streams.add({ ...wanted, name });
  else if (differences(wanted, found.config).length > 0) {
    refuseForeign(name, found.config);
    await manager.streams.update(name, wanted);
  }
  // Servers leave out options that they do not know, in silence.
  const kept = await manager.streams.info(name);
  const ignored = differences(wanted, kept.config);
  if (ignored.length > 0)
    throw new ServerRefused(`NATS keeps the stream ${name} without ${ignored.join(', ')}`);
  await prepareConsumer(manager, name);
  return manager;
}

function refuseOld(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return;
  throw new ServerRefused(
    `NATS_URL: nats-server ${version} cannot sync before it acknowledges, so that acknowledged events are lost when ` +
      `the machine fails; use ${OLDEST.major}.${OLDEST.minor} or later`,
  );
}

async function openManager(connection: NatsConnection): Promise<JetStreamManager> {
  try {
    return await connection.jetstreamManager({ timeout: API_TIMEOUT_MS });
  } catch (error) {
    if (
      error instanceof NatsError &&
      /no responders|503|10039|10076/i.test(`${error.code} ${error.message}`)
    ) {
      throw new ServerRefused(
        'NATS_URL: the server has no JetStream for this account: enable jetstream there',
        {
          cause: error,
        },
      );
    }
    throw error;
  }
}

/** A work queue: what a sink has acknowledged is gone, so that the stream's size is what waits. */
const wantedStream = ({ streamPrefix, replicas, bytesMax }: StreamSettings) => ({
  subjects: [subjectOf(streamPrefix)],
  retention: RetentionPolicy.Workqueue,
  storage: StorageType.File,
  // Full means that new events are refused; old ones are never dropped.
  discard: DiscardPolicy.New,
  max_bytes: bytesMax,
  max_age: 0,
  num_replicas: replicas,
});

type Wanted = ReturnType<typeof wantedStream>;

const differences = (wanted: Wanted, found: StreamConfig): string[] =>
  (Object.keys(wanted) as (keyof Wanted)[]).filter(
    (option) => JSON.stringify(found[option] ?? 0) !== JSON.stringify(wanted[option]),
  );

/** What can't be changed later tells a stream of somebody else's. */
function refuseForeign(name: string, { retention, storage }: StreamConfig): void {
  if (retention === RetentionPolicy.Workqueue && storage === StorageType.File) return;
  throw new ServerRefused(`NATS has a stream ${name} that is not ours: set NATS_STREAM_PREFIX`);
}

async function prepareConsumer(manager: JetStreamManager, stream: string): Promise<void> {
  const wanted = { ack_wait: nanos(ACK_WAIT_MS), max_deliver: -1, max_ack_pending: DELIVERED_MAX };
  const found = await manager.consumers.info(stream, CONSUMER).catch(absent);
  if (found === undefined) {
    await manager.consumers.add(stream, {
      durable_name: CONSUMER,
      ack_policy: AckPolicy.Explicit,
      ...wanted,
    });
  } else await manager.consumers.update(stream, CONSUMER, wanted);
}

const NOT_FOUND = '404';

function absent(error: unknown): undefined {
  if (error instanceof NatsError && error.code === NOT_FOUND) return undefined;
  throw error;
}
