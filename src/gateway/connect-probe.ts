// Connecting has a time-out of its own, which `fetch` cannot be given: while an upstream has not answered lately, a bare
// connection is tried beside the request, and its failing ends the wait.

import type { Upstream } from './targets.ts';

export type ConnectProbe = ReturnType<typeof createConnectProbe>;

/** `direct`: false if a proxy is configured; then no connection is tried, and no target counts as unreachable. */
export function createConnectProbe(direct = true) {
  const trials = new Map<Upstream, Set<() => void>>();

  const begin = (upstream: Upstream): Set<() => void> => {
    const waiting = new Set<() => void>();
    trials.set(upstream, waiting);
    const { baseUrl, timeoutsMs } = upstream.spec;
    const { hostname, port, protocol } = new URL(baseUrl);
    const end = (unreachable: boolean): void => {
      clearTimeout(timer);
      if (trials.get(upstream) !== waiting) return;
      trials.delete(upstream);
      if (unreachable) for (const tell of waiting) tell();
    };
    const timer = setTimeout(() => end(true), timeoutsMs.connect);
    // The request itself reports every other error.
    Bun.connect({
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      socket: {
        data: () => undefined,
        open(socket) {
          end(false);
          socket.end();
        },
        error: () => end(false),
      },
    }).catch(() => end(false));
    return waiting;
  };

  return {
    /** Calls `onUnreachable` if no connection is made in time. Returns a function that ends the watch. */
    watch(upstream: Upstream, onUnreachable: () => void): () => void {
      if (!direct) return () => undefined;
      const waiting = trials.get(upstream) ?? begin(upstream);
      waiting.add(onUnreachable);
      return () => waiting.delete(onUnreachable);
    },
  };
}
