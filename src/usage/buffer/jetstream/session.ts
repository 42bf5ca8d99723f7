// A server whose stream is as we want it: looked after from the first connection on, at every further one, and when
// the stream turns out to be gone.

import { ErrorCode, type JetStreamClient, type JetStreamManager, type NatsConnection, NatsError } from 'nats';
import type { Logger } from '../../../core/logger.ts';
import { linkNats, type NatsLink } from '../../../infra/nats/connection.ts';
import type { Durability } from '../event-buffer.ts';
import { readDurability } from './durability.ts';
import { prepareStream, ServerRefused, type StreamSettings } from './stream.ts';

export type JetStreamSettings = StreamSettings & {
  url: string;
  creds: string | undefined;
  monitorUrl: string | undefined;
};

export type Prepared = {
  connection: NatsConnection;
  /** Aborts when the connection is lost. */
  lost: AbortSignal;
  client: JetStreamClient;
  manager: JetStreamManager;
  /** Whose events the stream holds. */
  database: string;
};

export type SessionDeps = {
  settings: JetStreamSettings;
  /**
   * The identity of the database, asked for once. Before it is known no event is taken: the stream of the name could
   * be another database's.
   */
  identity(): Promise<string>;
  log: Logger;
};

const START_WAIT_MS = 2500;
const PREPARE_RETRY_MS = 500;
/**
 * How long the server may take for each answer of a preparation: short, as a request is lost where its leader has just gone;
 * doubled by each that was not answered in time, as the server may be slow.
 */
const API_TIMEOUT_MS = 2000;
const API_TIMEOUT_MS_MAX = 10_000;
/** After this time without an answer another server is tried: a server that is cut off from the others cannot serve, and may not know it. */
const MOVE_AFTER_MS = 5000;
/** Each move that brought no answer doubles the time: where all of them are slow, it is too short for any of them. */
const MOVE_AFTER_MS_MAX = 60_000;

export function createSession({ settings, identity, log }: SessionDeps) {
  let link: NatsLink | undefined;
  let prepared: Prepared | undefined;
  let preparing = false;
  /** A version that invalidates earlier preparations. */
  let generation = 0;
  let refusal: ServerRefused | undefined;
  let durability: Durability | undefined;
  let told = '';
  let database: string | undefined;
  let loss = new AbortController();
  /** Monotonic milliseconds of the last answer, and of the first request since that failed for silence. */
  let heardAt = 0;
  let silentSince: number | undefined;
  let moveAfterMs = MOVE_AFTER_MS;

  const hear = (): void => {
    heardAt = performance.now();
    silentSince = undefined;
    moveAfterMs = MOVE_AFTER_MS;
  };
  const noteSilence = (error: unknown, sentAt: number): void => {
    if (!isSilence(error)) return;
    silentSince ??= Math.max(sentAt, heardAt);
    if (performance.now() - silentSince < moveAfterMs) return;
    silentSince = undefined;
    moveAfterMs = Math.min(MOVE_AFTER_MS_MAX, 2 * moveAfterMs);
    log.warn({ err: error }, 'NATS gives no answers; another of its servers is tried');
    link?.move();
  };
  const onLoss = (): void => {
    silentSince = undefined;
    loss.abort();
    loss = new AbortController();
  };

  const askDurability = async (connection: NatsConnection): Promise<void> => {
    const found = await readDurability(connection, settings);
    if (!found.synced && (durability === undefined || durability.synced)) log.warn({}, found.warning);
    durability = found;
  };
  const tell = (error: unknown): void => {
    refusal = error instanceof ServerRefused ? error : undefined;
    if (told === `${error}`) return;
    told = `${error}`;
    if (refusal !== undefined) log.error({}, refusal.message);
    else log.warn({ err: error }, 'the stream of usage events is not ready yet');
  };
  const prepare = async (): Promise<void> => {
    // Another server may answer at the address now.
    generation += 1;
    prepared = undefined;
    if (preparing) return;
    preparing = true;
    let timeoutMs = API_TIMEOUT_MS;
    for (
      let there = link?.connected();
      prepared === undefined && there !== undefined;
      there = link?.connected()
    ) {
      const current = generation;
      const { signal: lost } = loss;
      const sentAt = performance.now();
      try {
        database ??= await identity();
        const manager = await prepareStream(there, settings, { database, timeoutMs });
        if (current !== generation) continue;
        prepared = { connection: there, lost, client: there.jetstream(), manager, database };
        refusal = undefined;
        told = '';
        hear();
        void askDurability(there);
      } catch (error) {
        tell(error);
        noteSilence(error, sentAt);
        if (isSilence(error)) timeoutMs = Math.min(API_TIMEOUT_MS_MAX, 2 * timeoutMs);
        await Bun.sleep(PREPARE_RETRY_MS);
      }
    }
    preparing = false;
  };
  const begin = (): void => void prepare();

  return {
    /** Waits a moment for the server, which may come later. Throws `ServerRefused` if it cannot serve. */
    async start(): Promise<void> {
      const { url, creds } = settings;
      link = linkNats({ url, creds, name: 'atrium', log, onConnect: begin, onLoss });
      const until = performance.now() + START_WAIT_MS;
      while (performance.now() < until && durability === undefined && refusal === undefined)
        await Bun.sleep(10);
      if (refusal === undefined) return;
      await link.close();
      throw refusal;
    },
    /** Undefined while the server is away, or its stream is not ready. */
    prepared: (): Prepared | undefined => (link?.connected() === prepared?.connection ? prepared : undefined),
    /** The connection while the server is reachable, whatever the state of the stream. */
    connected: (): NatsConnection | undefined => link?.connected(),
    /** Why the server that is there can't serve. */
    refusal: () => refusal,
    /** Undefined until a server has been asked. */
    durability: () => durability,
    /**
     * Must be called at every failure, with the monotonic time of its request: a deleted stream is created again, a server that
     * gives no answers is left.
     */
    failed(error: unknown, sentAt: number): void {
      if (link?.connected() === undefined) return;
      noteSilence(error, sentAt);
      if (isMissing(error)) begin();
    },
    /** Must be called at every answer about the stream. */
    answered: hear,
    /** Must be called when the stream belongs to another database now: it is prepared again. */
    taken: begin,
    async close(): Promise<void> {
      const closing = link?.close();
      link = undefined;
      await closing;
    },
  };
}

/** No stream listens to the subject, no consumer to the pull, or there is none of the name. */
const isMissing = (error: unknown): boolean =>
  error instanceof NatsError &&
  ((error.code === ErrorCode.NoResponders && error.api_error === undefined) || error.code === '404');

/** The code of a cluster without a leader; an error without a code means that no server has answered. */
const NO_LEADER = 10_008;
const isSilence = (error: unknown): boolean =>
  error instanceof NatsError && (error.api_error?.err_code ?? NO_LEADER) === NO_LEADER;
