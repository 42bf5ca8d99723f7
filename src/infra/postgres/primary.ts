/**
 * Which of the hosts of an address takes writes; after a failover it is another one.
 *
 * postgres.js 3.4 knows several hosts, but takes a standby for a server that takes writes (`tryNext` in its connection.js),
 * and begins with the first host again in each new pool, so that one that hangs is never left.
 */
import { connect, type Socket } from 'node:net';
import { explain } from '../../core/errors.ts';
import { within } from '../../core/wait.ts';
import type { Host } from './address.ts';
import { isUnavailable, markDatabaseError } from './unavailable.ts';

/** The time after which other hosts are tried, too, if the host that was used before has not answered. */
const PREFERENCE_MS = 1_000;
/** How long an answer holds: connections that are opened together ask once, and so do statements of an outage. */
const VALID_MS = 500;

export type Primary = {
  /** A connection to the host that takes writes. Rejects where none does, or where they refuse us. */
  connect(): Promise<Socket>;
};

/** `isReadOnly` asks the server at the other end of the connection that it opens, and may reject. */
export function createPrimary(
  candidates: readonly Host[],
  isReadOnly: (open: () => Socket, host: Host) => Promise<boolean>,
): Primary {
  const sockets = new Map<Socket, Host>();
  let current: Host | undefined;
  let looking: Promise<Host> | undefined;

  const check = async (host: Host): Promise<Host> => {
    const opened: Socket[] = [];
    const open = (): Socket => {
      const socket = connectTo(host);
      opened.push(socket);
      return socket;
    };
    try {
      if (await isReadOnly(open, host)) throw new NotPrimary('read-only');
      return host;
    } finally {
      for (const socket of opened) socket.destroy();
    }
  };
  const look = async (): Promise<Host> => {
    const checks = candidates.map(check);
    const any = Promise.any(checks).catch((error: AggregateError) => {
      throw toRefusal(candidates, error.errors);
    });
    // The former host is used as long as it takes writes, even if another one takes them, too.
    const preferred = checks.find((_, index) => candidates[index] === current)?.catch(() => any) ?? any;
    return within(preferred, PREFERENCE_MS, () => any);
  };
  const find = async (): Promise<Host> => {
    const found = await look();
    // Sessions with the former primary would keep its locks and notifications, which the other processes no longer see.
    for (const [socket, host] of sockets) if (host !== found) socket.destroy();
    current = found;
    return found;
  };
  const locate = (): Promise<Host> => {
    looking ??= find().finally(() =>
      setTimeout(() => {
        looking = undefined;
      }, VALID_MS).unref(),
    );
    return looking;
  };

  return {
    async connect() {
      const found = await locate();
      for (const socket of sockets.keys()) if (socket.destroyed) sockets.delete(socket);
      const socket = connectTo(found);
      sockets.set(socket, found);
      return socket;
    },
  };
}

/** Host and port are those by which postgres.js checks the certificate, and that it names in errors. */
const connectTo = (host: Host): Socket => Object.assign(connect(host), host);

class NotPrimary extends Error {
  /** As that of a connection that was lost: it is tried again. */
  readonly code = 'CONNECTION_CLOSED';
}

/** Where each host refuses us for good, the refusal of the first; otherwise a failure that may pass. */
function toRefusal(candidates: readonly Host[], errors: readonly unknown[]): unknown {
  for (const error of errors) markDatabaseError(error);
  if (!errors.some(isUnavailable)) return errors[0];
  const reasons = candidates.map(({ host, port }, index) => `${host}:${port} (${explain(errors[index])})`);
  return new NotPrimary(`no host takes writes: ${reasons.join(', ')}`);
}
