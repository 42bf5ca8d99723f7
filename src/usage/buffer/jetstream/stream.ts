// The stream and its consumer on the server: made, brought up to date, and read back.

import {
  AckPolicy,
  type ConsumerConfig,
  DiscardPolicy,
  ErrorCode,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';

export type StreamSettings = { streamPrefix: string; replicas: number; bytesMax: number };

/** A server that cannot keep acknowledged events; the message is one line. */
export class ServerRefused extends Error {}

export const CONSUMER = 'sink';
export const streamOf = (prefix: string): string => `${prefix}_EVENTS`;
export const subjectOf = (prefix: string): string => `${prefix}.events`;

/** The packs of a killed sink are delivered again after it; a slower batch is delivered twice and stored once. */
const ACK_WAIT_MS = 15_000;
const DELIVERED_MAX = 20_000;

/** The first that can sync before it acknowledges. */
const OLDEST = { major: 2, minor: 10 };

/**
 * Throws `ServerRefused` for a server that is too old, has no JetStream, or refuses the stream or its options, and
 * for a stream of another database. A failure that may be temporary throws the client's error.
 *
 * Where all is as it should be, only the leaders of the stream and of its consumer are asked, one request each: the rest of
 * the cluster may be without a leader. `timeoutMs`: how long each request may take.
 */
export async function prepareStream(
  connection: NatsConnection,
  settings: StreamSettings,
  { database, timeoutMs }: { database: string; timeoutMs: number },
): Promise<JetStreamManager> {
  refuseOld(connection.info?.version ?? '0');
  const manager = await connection.jetstreamManager({ timeout: timeoutMs, checkAPI: false });
  const name = streamOf(settings.streamPrefix);
  try {
    await makeStream(manager, name, { wanted: wantedStream(settings), database });
    await prepareConsumer(manager, name);
  } catch (error) {
    throw toRefusal(name, error);
  }
  return manager;
}

async function makeStream(
  manager: JetStreamManager,
  name: string,
  { wanted, database }: { wanted: Wanted; database: string },
): Promise<void> {
  const found = await manager.streams.info(name).catch(absent);
  const metadata = { ...found?.config.metadata, [DATABASE]: database };
  if (found === undefined) await manager.streams.add({ ...wanted, name, metadata });
  else {
    refuseForeign(name, found.config, database);
    // A stream of an earlier version says nothing of its database: the first that asks for it has it.
    if (databaseOf(found.config) !== undefined && differences(wanted, found.config).length === 0) return;
    await manager.streams.update(name, { ...wanted, metadata });
  }
  // Servers leave out options that they do not know, in silence; and another service may have been at work.
  const { config: kept } = await manager.streams.info(name);
  refuseForeign(name, kept, database);
  const ignored = databaseOf(kept) === undefined ? ['metadata'] : [];
  refuseIgnored(`the stream ${name}`, [...differences(wanted, kept), ...ignored]);
}

function refuseIgnored(what: string, ignored: readonly string[]): void {
  if (ignored.length === 0) return;
  throw new ServerRefused(`NATS_URL: the server keeps ${what} without ${ignored.join(', ')}`);
}

/** JetStream's numbers of errors (its errors.json) that a setting mends, and of those that pass: of races, of servers away. */
const STORAGE_SHORT = 10_047;
const NOT_CLUSTERED = 10_074;
const SETTINGS: Record<number, string> = {
  [STORAGE_SHORT]: 'EVENT_BUFFER_BYTES_MAX',
  [NOT_CLUSTERED]: 'NATS_REPLICAS',
};
const PASSING = [10_005, 10_013, 10_058, 10_148];
const BAD_REQUEST = 400;

/** A permanent error is a refusal; all others stay as they are. */
function toRefusal(name: string, error: unknown): unknown {
  if (!(error instanceof NatsError)) return error;
  if (hasNoJetStream(error)) return new ServerRefused(NO_JETSTREAM_HERE, { cause: error });
  if (error.api_error === undefined) return error;
  const { code, err_code: number = 0, description } = error.api_error;
  const setting = SETTINGS[number];
  if (setting === undefined && (code !== BAD_REQUEST || PASSING.includes(number))) return error;
  const message = `${setting ?? 'NATS_URL'}: the server refuses the stream ${name}: ${description}`;
  return new ServerRefused(message, { cause: error });
}

function refuseOld(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor)) return;
  throw new ServerRefused(
    `NATS_URL: nats-server ${version} cannot sync before it acknowledges, so that acknowledged events are lost when ` +
      `the machine fails; use ${OLDEST.major}.${OLDEST.minor} or later`,
  );
}

/** Not for this account (10039), or unavailable (10076, or no answer); a cluster without a leader is temporary. */
const NO_JETSTREAM = [10_039, 10_076];
const NO_JETSTREAM_HERE = 'NATS_URL: the server has no JetStream for this account: enable jetstream there';
const hasNoJetStream = ({ code, api_error: told }: NatsError): boolean =>
  told === undefined ? code === ErrorCode.NoResponders : NO_JETSTREAM.includes(told.err_code ?? 0);

/** A work queue: an acknowledged message is removed, so that the stream's size is the backlog. */
const wantedStream = ({ streamPrefix, replicas, bytesMax }: StreamSettings) => ({
  subjects: [subjectOf(streamPrefix)],
  retention: RetentionPolicy.Workqueue,
  storage: StorageType.File,
  // Full means that new events are refused; old ones are never dropped.
  discard: DiscardPolicy.New,
  max_bytes: bytesMax,
  max_age: 0,
  max_msgs: -1,
  max_msgs_per_subject: -1,
  max_msg_size: -1,
  num_replicas: replicas,
});

type Wanted = ReturnType<typeof wantedStream>;

/** Options that differ from the requested ones; a server omits zero values. */
const differences = (wanted: Wanted | WantedConsumer, found: StreamConfig | ConsumerConfig): string[] => {
  const kept = new Map<string, unknown>(Object.entries(found));
  return Object.entries(wanted)
    .filter(([option, value]) => JSON.stringify(kept.get(option) ?? 0) !== JSON.stringify(value))
    .map(([option]) => option);
};

/** In the stream's metadata: the identity of the database that its events are stored in. */
const DATABASE = 'atrium_database';

/** Undefined for a stream that was made before it was kept. */
export const databaseOf = ({ metadata }: StreamConfig): string | undefined => metadata?.[DATABASE];

/**
 * An option that cannot be changed later shows that the stream was made by another program. Two services with one
 * stream would each store events of the other.
 */
function refuseForeign(name: string, config: StreamConfig, database: string): void {
  if (config.retention !== RetentionPolicy.Workqueue || config.storage !== StorageType.File)
    throw new ServerRefused(`NATS has a stream ${name} that is not ours: set NATS_STREAM_PREFIX`);
  const owner = databaseOf(config);
  if (owner === undefined || owner === database) return;
  throw new ServerRefused(
    `NATS_STREAM_PREFIX: the stream ${name} holds the events of another database (${owner}; this one is ` +
      `${database}); set another prefix, or delete the stream if that database is gone`,
  );
}

const WANTED_CONSUMER = {
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(ACK_WAIT_MS),
  max_deliver: -1,
  max_ack_pending: DELIVERED_MAX,
};

type WantedConsumer = typeof WANTED_CONSUMER;

async function prepareConsumer(manager: JetStreamManager, stream: string): Promise<void> {
  const found = await manager.consumers.info(stream, CONSUMER).catch(absent);
  if (found !== undefined && differences(WANTED_CONSUMER, found.config).length === 0) return;
  const { config } =
    found === undefined
      ? await manager.consumers.add(stream, { durable_name: CONSUMER, ...WANTED_CONSUMER })
      : await manager.consumers.update(stream, CONSUMER, WANTED_CONSUMER);
  refuseIgnored(`the consumer ${CONSUMER} of ${stream}`, differences(WANTED_CONSUMER, config));
}

const NOT_FOUND = '404';

function absent(error: unknown): undefined {
  if (error instanceof NatsError && error.code === NOT_FOUND) return undefined;
  throw error;
}
