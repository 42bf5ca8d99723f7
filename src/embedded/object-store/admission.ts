// The admission of connections. Until a signature has been checked, a request is unauthenticated. These share a pool of
// connections in which the newest replaces the oldest, so that many unfinished uploads do not exclude legitimate ones.
import type { Socket } from 'node:net';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';

/** The service signs its own requests in their headers; it grants others forms and pre-signed URLs. */
export type Authority = 'service' | 'grant';

/** `admit` throws SlowDown where as many requests run under grants as may; the service's own always get a place. */
export function createAdmission() {
  /** In the order in which they came. */
  const strangers = new Set<Socket>();
  let granted = 0;
  return {
    /** A connection has been opened. */
    connected(socket: Socket): void {
      strangers.add(socket);
      socket.once('close', () => strangers.delete(socket));
      if (strangers.size <= limits.strangersMax) return;
      const [oldest] = strangers;
      oldest?.destroy();
    },
    /** A request begins; `done` when it is answered. */
    begin(socket: Socket) {
      let counted = false;
      return {
        admit(authority: Authority): void {
          if (authority === 'grant') {
            if (granted >= limits.requestsMax) throw new S3Error('SlowDown');
            granted += 1;
            counted = true;
          }
          strangers.delete(socket);
        },
        done(): void {
          if (counted) granted -= 1;
        },
      };
    },
  };
}
