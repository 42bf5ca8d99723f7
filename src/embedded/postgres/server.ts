/** The server process: start until it is ready, end. */
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { CHILD_ENVIRONMENT } from './cluster.ts';
import { readServerState } from './leftover.ts';
import type { LogFile } from './log-file.ts';
import { killBackends, shutDown } from './processes.ts';
import { serverSettings } from './settings.ts';

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
  binaries: Binaries;
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
function launch({ cluster, binaries, account, log, settings, wrapper }: Parts, port: number) {
  const flags = Object.entries({ ...serverSettings(port), ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const child = Bun.spawn([...account.launcher, ...wrapper, binaries.postgres, '-D', cluster, ...flags], {
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
