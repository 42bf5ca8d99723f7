// The connection to NATS, which is opened in the background, and reopened after each loss.

import { readFileSync } from 'node:fs';
import { connect, credsAuthenticator, Events, type NatsConnection } from 'nats';
import type { Logger } from '../../core/logger.ts';
import { endsWithin } from '../../core/wait.ts';

export type NatsLink = ReturnType<typeof linkNats>;

const RECONNECT_MS = 250;
/** A server that has little of its processors needs seconds for a greeting, or for the answer to a ping. */
const CONNECT_TIMEOUT_MS = 10_000;
const PING_INTERVAL_MS = 2000;
const PINGS_MAX = 4;
const CLOSE_TIMEOUT_MS = 2000;

export type NatsOptions = {
  /** One or more URLs, comma-separated; a user and a password in them are never logged. */
  url: string;
  creds: string | undefined;
  name: string;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Called at every connect, the first included. */
  onConnect(connection: NatsConnection): void;
  /** Called at every loss of it. */
  onLoss(): void;
};

/** Does not wait for the server. Throws where the credentials file cannot be read. */
export function linkNats({ url, creds, name, log, onConnect, onLoss }: NatsOptions) {
  const authenticator = creds === undefined ? undefined : credsAuthenticator(readFileSync(creds));
  let connection: NatsConnection | undefined;
  let present = false;
  let closed = false;
  const announce = (made: NatsConnection): void => {
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
    announce(made);
    for await (const { type } of made.status()) {
      if (type === Events.Disconnect && present) {
        present = false;
        log.warn({}, 'the connection to NATS is lost; it is made again');
        onLoss();
      } else if (type === Events.Reconnect) announce(made);
    }
  };
  const openUntilClosed = async (): Promise<void> => {
    let reported = '';
    while (!closed) {
      try {
        await open();
        reported = '';
      } catch (error) {
        // Each new cause is logged once: first no server may answer, then the password may be wrong.
        if (reported !== `${error}`) log.warn({ err: error }, 'NATS is not reachable yet; waiting for it');
        reported = `${error}`;
      }
      present = false;
      connection = undefined;
      if (!closed) await Bun.sleep(RECONNECT_MS);
    }
  };
  void openUntilClosed();

  return {
    /** The connection, if it is open; pings verify it every few seconds. */
    connected: (): NatsConnection | undefined => (present ? connection : undefined),
    /** Reconnects to the next known server, or to the same one where there is no other. */
    move: (): void => void connection?.reconnect().catch(() => undefined),
    async close(): Promise<void> {
      closed = true;
      if (connection === undefined) return;
      const drained = connection.drain().catch(() => undefined);
      if (!(await endsWithin(drained, CLOSE_TIMEOUT_MS)))
        await endsWithin(connection.close(), CLOSE_TIMEOUT_MS);
    },
  };
}

/** The client accepts only the hosts of URLs, so that user and password are separate options. */
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
