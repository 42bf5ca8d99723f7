/** Finds which of the hosts of an address takes writes; after a failover it is another one. postgres.js takes a standby for it, too. */
import { connect, type Socket } from 'node:net';
import { explain } from '../../core/errors.ts';
import { within } from '../../core/wait.ts';
import { type Host, parseAddress } from './address.ts';
import { openClient, Session } from './session.ts';
import { ConnectionLost, isConnectionLost, isUnavailable, markDatabaseError } from './unavailable.ts';

/** The time after which other hosts are used, too, if the host that was used before has not answered. */
const PREFERENCE_MS = 1_000;
/** How long an answer holds: connections that are opened together ask once, and so do statements of an outage. */
const VALID_MS = 500;
/** Within which a host has to say whether it takes writes. */
const LOOK_TIMEOUT_MS = 4_000;

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

/** Pools of one address look together, and leave a former primary together. */
const primaries = new Map<string, Primary>();

/**
 * The server of an address: a URL that a client of one host understands, the hosts among which one is looked for, and how to connect to it.
 * Throws where the text is no address. `settings`: of the sessions that look.
 */
export function findServer(address: string, settings: Record<string, string>) {
  const { url, candidates: hosts } = parseAddress(address) ?? {};
  if (url === undefined || hosts === undefined)
    throw new Error('The address of the database is no postgres:// URL');
  const { host, port, path } = openClient({ url, settings }).options as unknown as ClientAddress;
  if (hosts.length === 0) {
    const open = (): Socket =>
      path ? connect(path) : connectTo({ host: host[0] ?? '', port: port[0] ?? 0 });
    return { url, hosts, open: async () => open() };
  }
  const primary = primaries.get(address) ?? new Primary(hosts, (each) => isWritable(url, settings, each));
  primaries.set(address, primary);
  return { url, hosts, open: () => primary.open() };
}

/** What postgres.js reads from a URL, or from the environment. `path`: of a socket of Unix. */
type ClientAddress = { host: string[]; port: number[]; path: string | false };

async function isWritable(url: string, settings: Record<string, string>, host: Host): Promise<boolean> {
  const open = async () => connectTo(host);
  const session = new Session({ url, settings, open, timeoutMs: LOOK_TIMEOUT_MS, isLost: isConnectionLost });
  try {
    const [row] = await session.sql`SELECT current_setting('transaction_read_only') AS state`;
    return row?.['state'] === 'off';
  } finally {
    void session.end(0);
  }
}

/** postgres.js checks the certificate by the name of the host, and names host and port in errors. */
const connectTo = (host: Host): Socket => Object.assign(connect(host), host);
