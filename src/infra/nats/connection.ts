// The connection to NATS: made in the background, and again whenever it is lost.

import { readFileSync } from 'node:fs';
import { connect, credsAuthenticator, Events, type NatsConnection } from 'nats';
import { endsWithin } from '../../core/wait.ts';

export type NatsLink = {
  /** The connection, while there is one; the server has been heard of within seconds. */
  connected(): NatsConnection | undefined;
  /** Leaves the server for the next one that is known; the same one, where there is no other. */
  move(): void;
  close(): Promise<void>;
};

type Log = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
};

const RECONNECT_MS = 250;
const CONNECT_TIMEOUT_MS = 2000;
const PING_INTERVAL_MS = 2000;
const PINGS_MAX = 2;
const CLOSE_TIMEOUT_MS = 2000;

export type NatsOptions = {
  /** One or more, comma-separated; may hold a user and a password, which are never logged. */
  url: string;
  /** Path of a credentials file. */
  creds: string | undefined;
  name: string;
  log: Log;
  /** Called at every connect, the first included. */
  onConnect(connection: NatsConnection): void;
};

/** Does not wait for the server. Throws where the credentials file cannot be read. */
export function linkNats({ url, creds, name, log, onConnect }: NatsOptions): NatsLink {
  const authenticator = creds === undefined ? undefined : credsAuthenticator(readFileSync(creds));
  let connection: NatsConnection | undefined;
  let present = false;
  let closed = false;
  const here = (made: NatsConnection): void => {
    present = true;
    log.info({ server: made.info?.version }, 'connected to NATS');
    onConnect(made);
  };
  const open = async (): Promise<void> => {
    const made = await connect({
      ...toServers(url),
      ...(authenticator === undefined ? {} : { authenticator }),
      name,
      timeout: CONNECT_TIMEOUT_MS,
      pingInterval: PING_INTERVAL_MS,
      maxPingOut: PINGS_MAX,
      reconnectTimeWait: RECONNECT_MS,
      maxReconnectAttempts: -1,
    });
    if (closed) return made.close();
    connection = made;
    here(made);
    for await (const { type } of made.status()) {
      if (type === Events.Disconnect && present) {
        present = false;
        log.warn({}, 'the connection to NATS is lost; it is made again');
      } else if (type === Events.Reconnect) here(made);
    }
  };
  const openUntilClosed = async (): Promise<void> => {
    let told = '';
    while (!closed) {
      try {
        await open();
        told = '';
      } catch (error) {
        // What is in the way may change: first no server answers, then it is the password.
        if (told !== `${error}`) log.warn({ err: error }, 'NATS is not reachable yet; waiting for it');
        told = `${error}`;
      }
      present = false;
      connection = undefined;
      if (!closed) await Bun.sleep(RECONNECT_MS);
    }
  };
  void openUntilClosed();

  return {
    connected: () => (present ? connection : undefined),
    move: () => void connection?.reconnect().catch(() => undefined),
    async close() {
      closed = true;
      if (connection === undefined) return;
      const drained = connection.drain().catch(() => undefined);
      if (!(await endsWithin(drained, CLOSE_TIMEOUT_MS)))
        await endsWithin(connection.close(), CLOSE_TIMEOUT_MS);
    },
  };
}

/** Of URLs with a user the client takes the host alone. */
function toServers(url: string) {
  const urls = url.split(',').map((each) => new URL(each.trim()));
  const first = urls.find(({ username }) => username !== '');
  const user = decodeURIComponent(first?.username ?? '');
  const pass = decodeURIComponent(first?.password ?? '');
  return {
    servers: urls.map(({ host }) => host),
    ...(urls.some(({ protocol }) => protocol === 'tls:') ? { tls: {} } : {}),
    ...(first === undefined ? {} : pass === '' ? { token: user } : { user, pass }),
  };
}
