// The processes that serve. Their owner replaces a process that dies or falls silent.

import type { Subprocess } from 'bun';
import type { Config } from '../config.ts';
import type { Logger } from '../core/logger.ts';
import { endsWithin } from '../core/wait.ts';
import { createGathering, type Member } from './gathering.ts';
import { recordProcess } from './leftovers.ts';
import { ALIVE_INTERVAL_MS, type ToOwner } from './owner.ts';
import { claimPort } from './port.ts';

type Child = Member & {
  process: Subprocess;
  /** Signs of life that have failed to come since the last one, and whether there was any. */
  silentFor: number;
  heard: boolean;
  mayListen: boolean;
  serves: boolean;
  /** Resolves once it serves or has ended. */
  started: Promise<void>;
};

const RESTART_PAUSE_MS = 500;
/** The number of missed heartbeats, one a second by the owner's own count, after which a process is replaced. */
const SILENT_MAX = 10;
/** The same before the first heartbeat, because a busy machine takes long to load a program. */
const SILENT_START_MAX = 60;

/** The last message of a process may arrive after its end is noticed. */
const LAST_WORD_MS = 50;

/** They share the port with one another, and with no other service: the first one of them claims it. */
export function createChildren(options: {
  config: Config;
  environment: Record<string, string | undefined>;
  log: Logger;
}) {
  const { config, environment, log } = options;
  const { host: hostname, port } = config.server;
  const children = new Set<Child>();
  const gathering = createGathering(config.processes, () => [...children].filter(({ serves }) => serves));
  let claiming: Promise<void> | undefined;
  let stopping = false;

  /** Resolves when the process serves, rejects when it ends instead. A process that served and then ends is replaced. */
  const startOne = (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let reason = 'A process ended before it could serve';
    const refuse = (error: Error): void => {
      reason = error.message;
      child.process.kill('SIGTERM');
    };
    const hear = (message: ToOwner): void => {
      child.silentFor = 0;
      child.heard = true;
      if (message === 'prepared') void letListen(child).catch(refuse);
      else if (message === 'ready') {
        child.serves = true;
        resolve();
      } else if (message === 'alive') return;
      else if ('failed' in message) reason = message.failed;
      else if ('ask' in message) gathering.ask(child, message.topic, message.ask);
      else gathering.answer(child, message.answered, message.answer);
    };
    const spawned = Bun.spawn([process.execPath, Bun.main], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: environment,
      ipc: hear,
    });
    const started = promise.catch(() => undefined);
    const state = { silentFor: 0, heard: false, mayListen: false, serves: false };
    const taken = new Set([...children].map(({ number }) => number));
    const child: Child = {
      number: 1 + [...taken, 0].findIndex((_, index) => !taken.has(index + 1)),
      // A process that has just ended takes no messages.
      send: (message) => void (spawned.exitCode === null && spawned.send(message)),
      process: spawned,
      started,
      ...state,
    };
    const forget = recordProcess(config.dataDir, spawned.pid);
    children.add(child);
    void spawned.exited.then(async (code) => {
      children.delete(child);
      gathering.leave(child);
      forget();
      await Bun.sleep(LAST_WORD_MS);
      reject(new Error(reason));
      if (!child.serves || stopping) return;
      log.error({ pid: spawned.pid, code }, 'a process ended by itself; it is replaced');
      void replaceOne();
    });
    return promise;
  };
  const letListen = async (child: Child): Promise<void> => {
    while (claiming !== undefined) await claiming;
    const listen = (): Promise<void> => {
      child.mayListen = true;
      child.send('listen');
      return child.started;
    };
    if ([...children].some(({ mayListen }) => mayListen)) return void listen();
    claiming = claimPort('PORT', { hostname, port }, listen).finally(() => {
      claiming = undefined;
    });
    await claiming;
  };
  const replaceOne = async (): Promise<void> => {
    for (let served = false; !served && !stopping; ) {
      await Bun.sleep(RESTART_PAUSE_MS);
      if (!stopping) served = await startOne().then(() => true, noteFailure);
    }
  };
  const noteFailure = (error: unknown): false => {
    if (!stopping) log.error({ err: error }, 'a process could not be replaced; it is tried again');
    return false;
  };
  /** A process that hangs keeps its share of the port and of the work that one process does at a time. */
  const endSilent = (): void => {
    for (const child of children) {
      child.silentFor += 1;
      if (child.silentFor <= (child.heard ? SILENT_MAX : SILENT_START_MAX)) continue;
      log.error({ pid: child.process.pid }, 'a process has given no sign of life for too long; it is killed');
      child.process.kill('SIGKILL');
      child.silentFor = 0;
    }
  };
  const watch = setInterval(endSilent, ALIVE_INTERVAL_MS);

  return {
    /** Resolves when all serve; rejects with what keeps one of them from it. */
    async start(): Promise<void> {
      // A fault that keeps the first ones from serving (a port that is taken, say) has to be mended by the operator.
      await Promise.all(Array.from({ length: config.processes }, startOne));
    },
    reload(): void {
      for (const child of children) child.process.kill('SIGHUP');
    },
    /** Asks the processes to end, and kills those that have not ended within the time. */
    async end(timeoutMs: number): Promise<void> {
      stopping = true;
      for (const child of children) child.process.kill('SIGTERM');
      const ended = Promise.all([...children].map((child) => child.process.exited));
      if (!(await endsWithin(ended, timeoutMs))) for (const child of children) child.process.kill('SIGKILL');
      clearInterval(watch);
    },
  };
}
