// The admission of connections. Until a signature has been checked, a request is unauthenticated. These share a pool of
// connections in which the newest replaces the oldest, so that many unfinished uploads do not exclude legitimate ones. For the
// same reason, requests under grants that hardly move give way to new ones where there are too many.
import type { Socket } from 'node:net';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';

/** The service signs its own requests in their headers; it grants others forms and pre-signed URLs. */
export type Authority = 'service' | 'grant';

/** A request under a grant: the bytes that it has moved since it last had moved a step. */
type Granted = { readonly socket: Socket; steppedAtMs: number; moved: number };

export type Admission = ReturnType<typeof createAdmission>;

/** `admit` throws SlowDown where as many requests run under grants as may, and all move; the service's own always get a permit. */
export function createAdmission(nowMs: () => number = () => performance.now()) {
  /** In the order in which they came. */
  const strangers = new Set<Socket>();
  /** In the order in which they last moved a step. */
  const granted = new Set<Granted>();

  const makeRoom = (): void => {
    if (granted.size < limits.requestsMax) return;
    const [slowest] = granted;
    if (slowest === undefined || nowMs() - slowest.steppedAtMs < limits.stepMsMax)
      throw new S3Error('SlowDown');
    granted.delete(slowest);
    slowest.socket.destroy();
  };
  return {
    /** A connection has been opened. */
    connected(socket: Socket): void {
      strangers.add(socket);
      socket.once('close', () => strangers.delete(socket));
      if (strangers.size <= limits.strangersMax) return;
      const [oldest] = strangers;
      oldest?.destroy();
    },
    /** A request begins; `moved` when bytes of its body or its answer have passed, `done` when it is answered. */
    begin(socket: Socket) {
      let permit: Granted | undefined;
      return {
        admit(authority: Authority): void {
          if (authority === 'grant') {
            makeRoom();
            permit = { socket, steppedAtMs: nowMs(), moved: 0 };
            granted.add(permit);
          }
          strangers.delete(socket);
        },
        moved(bytes: number): void {
          if (permit === undefined) return;
          permit.moved += bytes;
          if (permit.moved < limits.stepBytes || !granted.delete(permit)) return;
          permit.moved = 0;
          permit.steppedAtMs = nowMs();
          granted.add(permit);
        },
        done(): void {
          if (permit !== undefined) granted.delete(permit);
        },
      };
    },
  };
}
