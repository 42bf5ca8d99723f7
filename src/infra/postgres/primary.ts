/** Finds which of the hosts of an address takes writes; after a failover it is another one. postgres.js takes a standby for it, too. */
import { connect, type Socket } from 'node:net';
import { explain } from '../../core/errors.ts';
import { within } from '../../core/wait.ts';
import type { Host } from './address.ts';
import { ConnectionLost, isUnavailable, markDatabaseError } from './unavailable.ts';

/** The time after which other hosts are used, too, if the host that was used before has not answered. */
const PREFERENCE_MS = 1_000;
/** How long an answer holds: connections that are opened together ask once, and so do statements of an outage. */
const VALID_MS = 500;

export class Primary {
  private readonly hosts: readonly Host[];
  private readonly isWritable: (host: Host) => Promise<boolean>;
  private readonly sockets = new Map<Socket, Host>();
  private current: Host | undefined;
  private finding: Promise<Host> | undefined;

  /** `isWritable` asks the server, and may reject. */
  constructor(hosts: readonly Host[], isWritable: (host: Host) => Promise<boolean>) {
    this.hosts = hosts;
    this.isWritable = isWritable;
  }

  /** A connection to the host that takes writes. Rejects where none does, or where all refuse us. */
  async open(): Promise<Socket> {
    this.finding ??= this.find().finally(() =>
      setTimeout(() => {
        this.finding = undefined;
      }, VALID_MS).unref(),
    );
    const host = await this.finding;
    const socket = connectTo(host);
    this.sockets.set(socket, host);
    socket.once('close', () => this.sockets.delete(socket));
    return socket;
  }

  private async find(): Promise<Host> {
    const checks = this.hosts.map(async (host) => {
      if (await this.isWritable(host)) return host;
      throw new ConnectionLost('read-only');
    });
    const any = Promise.any(checks).catch((error: AggregateError) => {
      throw this.explainAll(error.errors);
    });
    // The former host is used as long as it takes writes, even if another one takes them, too.
    const former = checks.find((_, index) => this.hosts[index] === this.current)?.catch(() => any) ?? any;
    const found = await within(former, PREFERENCE_MS, () => any);
    // Sessions with the former primary would keep its locks and notifications, which the other processes no longer see.
    for (const [socket, host] of this.sockets) if (host !== found) socket.destroy();
    this.current = found;
    return found;
  }

  /** Where each host refuses us for good, the refusal of the first; otherwise a failure that may pass. */
  private explainAll(errors: readonly unknown[]): unknown {
    for (const error of errors) markDatabaseError(error);
    if (!errors.some(isUnavailable)) return errors[0];
    const reasons = this.hosts.map(({ host, port }, index) => `${host}:${port} (${explain(errors[index])})`);
    return new ConnectionLost(`no host takes writes: ${reasons.join(', ')}`);
  }
}

/** postgres.js checks the certificate by the name of the host, and names host and port in errors. */
export const connectTo = (host: Host): Socket => Object.assign(connect(host), host);
