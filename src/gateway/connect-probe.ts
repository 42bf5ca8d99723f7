// Connecting has a time-out of its own, which `fetch` cannot be given: while an upstream has not answered for a while, a bare
// connection is tried beside the request, and its failing ends the wait.

import type { Upstream } from './targets.ts';

/** Whether a connection is made in time. Concurrent requests share one trial; the requests themselves report every other error. */
export function canConnect(upstream: Upstream): Promise<boolean> {
  upstream.connecting ??= connect(upstream).finally(() => {
    upstream.connecting = undefined;
  });
  return upstream.connecting;
}

async function connect({ spec: { baseUrl, timeoutsMs } }: Upstream): Promise<boolean> {
  const { hostname, port, protocol } = new URL(baseUrl);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), timeoutsMs.connect);
  Bun.connect({
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    socket: {
      data: () => undefined,
      open(socket) {
        resolve(true);
        socket.end();
      },
      error: () => resolve(true),
    },
  }).catch(() => resolve(true));
  const connected = await promise;
  clearTimeout(timer);
  return connected;
}
