// The message queue of a crash suite. With `TEST_NATS=cluster` (test/run.ts) it is a JetStream cluster of three of the suite's own,
// whose servers crash with the rest.

import { type NatsServer, startNats, startNatsCluster } from '../../support/nats-server.ts';

export type MessageQueue = {
  /** For a service that uses it. */
  environment: Record<string, string>;
  servers: readonly Pick<NatsServer, 'kill' | 'start'>[];
  stop(): Promise<void>;
};

/** Whether this run is one on a cluster. */
export const onCluster = process.env['TEST_NATS'] === 'cluster';

/** A stream reserves as much of the servers' disks. */
const BUFFER_BYTES_MAX = 256 * 1024 ** 2;

export async function startMessageQueue(): Promise<MessageQueue> {
  if (!onCluster) {
    const server = await startNats();
    const { url, monitorUrl, stop } = server;
    return { environment: { NATS_URL: url, NATS_MONITOR_URL: monitorUrl }, servers: [server], stop };
  }
  const { url, servers, stop } = await startNatsCluster();
  const environment = {
    NATS_URL: url,
    NATS_MONITOR_URL: servers[0]?.monitorUrl ?? '',
    NATS_REPLICAS: '3',
    EVENT_BUFFER_BYTES_MAX: `${BUFFER_BYTES_MAX}`,
  };
  return { environment, servers, stop };
}
