// Who gets a place. Until a signature has been checked a request is a stranger's: strangers share a pool of connections, in
// which the oldest gives way to the newest, so that nobody who may upload is kept out by many who begin and stop.
import type { Socket } from 'node:net';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';

/** The service's own requests carry a signature in their headers; forms and pre-signed URLs are what it grants others. */
export type Authority = 'service' | 'grant';

export interface Admission {
  /** A connection has been opened. */
  connected(socket: Socket): void;
  /** A request begins; `done` when it is answered. */
  begin(socket: Socket): { admit(authority: Authority): void; done(): void };
}

/** `admit` throws SlowDown where as many requests run under grants as may; the service's own always get a place. */
export function createAdmission(): Admission {
  /** In the order in which they came. */
  const strangers = new Set<Socket>();
  let granted = 0;
  return {
    connected(socket) {
      strangers.add(socket);
      socket.once('close', () => strangers.delete(socket));
      if (strangers.size <= limits.strangersMax) return;
      const [oldest] = strangers;
      oldest?.destroy();
    },
    begin(socket) {
      let counted = false;
      return {
        admit(authority) {
          if (authority === 'grant') {
            if (granted >= limits.requestsMax) throw new S3Error('SlowDown');
            granted += 1;
            counted = true;
          }
          strangers.delete(socket);
        },
        done() {
          if (counted) granted -= 1;
        },
      };
    },
  };
}
