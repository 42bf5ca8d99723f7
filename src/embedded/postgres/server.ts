/** The server process: start until it is ready, end. */
import { totalmem } from 'node:os';
import type { Account } from './account.ts';
import { CHILD_ENVIRONMENT } from './cluster.ts';
import type { LogFile } from './log-file.ts';
import { killBackends, readServerState, shutDown } from './processes.ts';
import type { Programs } from './programs.ts';

/** Long enough for the recovery after a crash under load. */
const READY_TIMEOUT_MS = 120_000;
const READY_POLL_MS = 3;
/** How long the last backends of a killed server may take to notice its end by themselves. */
const LINGERING_TIMEOUT_MS = 15_000;
const LINGERING_POLL_MS = 100;
/** A backend that still runs after this time does not notice that its server was killed. */
const LINGERING_GRACE_MS = 3000;
const PORTS_TRIED_MAX = 5;

type Parts = {
  cluster: string;
  programs: Programs;
  account: Account;
  log: LogFile;
  settings: Record<string, string>;
  /** The command that starts the server's program, as the account; empty where it is started directly. */
  wrapper: readonly string[];
  /** Undefined: a free one. */
  port: number | undefined;
};

type Server = ReturnType<typeof launch>;

/**
 * Starts the server and waits until it takes connections. If another process took the port meanwhile, it is
 * replaced, and processes of a killed predecessor have time to end.
 *
 * @throws Error of one line with the end of the server's log.
 */
export async function startServer(parts: Parts): Promise<Server> {
  const lingeringUntil = performance.now() + LINGERING_TIMEOUT_MS;
  for (let portsTried = 1; ; ) {
    const port = parts.port ?? freePort();
    parts.log.mark();
    const server = launch(parts, port);
    if (await becomesReady(parts, server)) return server;
    const complaint = parts.log.written();
    if (
      /could not bind|Address already in use/.test(complaint) &&
      portsTried < PORTS_TRIED_MAX &&
      parts.port === undefined
    ) {
      portsTried += 1;
    } else if (
      /still in use|lock file .* already exists/.test(complaint) &&
      performance.now() < lingeringUntil
    ) {
      if (performance.now() > lingeringUntil - LINGERING_TIMEOUT_MS + LINGERING_GRACE_MS)
        killBackends(parts.cluster);
      await Bun.sleep(LINGERING_POLL_MS);
    } else {
      throw new Error(`The embedded Postgres did not start (${parts.log.path}): ${parts.log.tail()}`);
    }
  }
}

/** In a session of its own: an interrupt from the terminal is for us, and we stop Postgres last. */
function launch({ cluster, programs, account, log, settings, wrapper }: Parts, port: number) {
  const flags = Object.entries({ ...serverSettings(port), ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const child = Bun.spawn([...account.launcher, ...wrapper, programs.postgres, '-D', cluster, ...flags], {
    stdio: ['ignore', log.descriptor, log.descriptor],
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    detached: true,
  });
  const { pid } = child;
  const interrupt = () => child.kill('SIGINT');
  process.on('exit', interrupt);
  const exited = child.exited.finally(() => process.off('exit', interrupt));
  return {
    port,
    pid,
    exited,
    async stop(): Promise<void> {
      if (await shutDown(pid)) await exited;
    },
  };
}

/** False when the server ended instead. */
async function becomesReady(parts: Parts, server: Server): Promise<boolean> {
  let ended = false;
  const noteEnd = server.exited.then(() => {
    ended = true;
  });
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!ended) {
    const state = readServerState(parts.cluster);
    if (state?.pid === server.pid && state.ready) return true;
    if (performance.now() > deadline) {
      await server.stop();
      break;
    }
    await Promise.race([noteEnd, Bun.sleep(READY_POLL_MS)]);
  }
  return false;
}

/** A port that was free a moment ago. */
function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}

/**
 * The server's settings travel on the command line, so an upgrade changes them for existing clusters, too. The address is loopback
 * and the port ours alone; there is no socket file.
 */
function serverSettings(port: number): Record<string, string> {
  const totalMib = totalmem() / 1024 ** 2;
  return {
    listen_addresses: '127.0.0.1',
    port: `${port}`,
    unix_socket_directories: '',
    max_connections: '100',
    shared_buffers: `${Math.round(Math.min(512, Math.max(64, totalMib / 16)))}MB`,
    effective_cache_size: `${Math.round(totalMib / 2)}MB`,
    work_mem: '16MB',
    maintenance_work_mem: '128MB',
    // Many short statements on solid-state storage: compiling and parallel workers cost more than they bring.
    jit: 'off',
    max_parallel_workers_per_gather: '0',
    random_page_cost: '1.1',
    // The server's own events only. A failed statement is the client's to report, and its text may be private.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] ',
    timezone: 'UTC',
    // Tables that are counted by index-only scans go stale within seconds under writes.
    autovacuum_naptime: '10s',
    // A statement whose client is gone ends soon; so a killed service leaves no busy backend behind.
    client_connection_check_interval: '2s',
  };
}
