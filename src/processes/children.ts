// The processes that serve. Their owner replaces a process that dies or falls silent.

import type { Subprocess } from 'bun';
import type { Config } from '../config.ts';
import type { Logger } from '../core/logger.ts';
import { joinFamilies, lasting, type MetricFamily } from '../core/metric-families.ts';
import { createExchange, type Part, type Topic } from '../core/siblings.ts';
import { endsWithin } from '../core/wait.ts';
import { ALIVE_INTERVAL_MS, type ToOwner } from './owner.ts';
import { claimPort } from './port.ts';

type Child = {
  process: Subprocess;
  exchange: ReturnType<typeof createExchange>;
  /** Its last ones. */
  metrics: MetricFamily[];
  /** Signs of life that have failed to come since the last one, and whether there was any. */
  silentFor: number;
  heard: boolean;
  serves: boolean;
};

const RESTART_PAUSE_MS = 500;
/** The number of missed heartbeats, one a second by the owner's own count, after which a process is replaced. */
const SILENT_MAX = 10;
/** The same before the first heartbeat, because a busy machine takes long to load a program. */
const SILENT_START_MAX = 60;
/** The last message of a process may arrive after its end is noticed. */
const LAST_WORD_MS = 50;

/** They share the port with one another, and with no other service: it is claimed while the first ones start. */
export function createChildren(options: {
  config: Config;
  environment: Record<string, string | undefined>;
  log: Logger;
}) {
  const { config, environment, log } = options;
  const { host: hostname, port } = config.server;
  /** By their numbers, from 1. */
  const children = new Map<number, Child>();
  /** Sums must not fall when a process has ended. */
  let departed: MetricFamily[] = [];
  let stopping = false;

  const answerOf = async (child: Child | undefined, topic: Topic): Promise<unknown> => {
    const answer = child?.serves ? await child.exchange.ask(topic) : undefined;
    if (topic !== 'metrics' || child === undefined) return answer;
    if (answer === undefined) return lasting(child.metrics);
    child.metrics = answer as MetricFamily[];
    return answer;
  };
  const gather = async (topic: Topic): Promise<Part[]> => {
    const numbers = Array.from({ length: config.processes }, (_, index) => index + 1);
    const parts = await Promise.all(
      numbers.map(async (number) => ({
        process: number,
        answer: await answerOf(children.get(number), topic),
      })),
    );
    return topic === 'metrics' ? [...parts, { answer: departed }] : parts;
  };

  /** Resolves when the process serves, rejects when it ends instead. A process that served and then ends is replaced. */
  const startOne = (number: number): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let reason = 'A process ended before it could serve';
    const hear = (message: ToOwner): void => {
      Object.assign(child, { silentFor: 0, heard: true });
      if (message === 'ready') {
        child.serves = true;
        resolve();
      } else if (message === 'alive') return;
      else if ('failed' in message) reason = message.failed;
      else void child.exchange.receive(message);
    };
    const spawned = Bun.spawn([process.execPath, Bun.main], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: environment,
      ipc: hear,
    });
    // A process that has just ended takes no messages.
    const exchange = createExchange(
      (message) => void (spawned.exitCode === null && spawned.send(message)),
      gather,
    );
    const child: Child = {
      process: spawned,
      exchange,
      metrics: [],
      silentFor: 0,
      heard: false,
      serves: false,
    };
    children.set(number, child);
    void spawned.exited.then(async (code) => {
      children.delete(number);
      departed = joinFamilies([{ families: departed }, { families: lasting(child.metrics) }]);
      await Bun.sleep(LAST_WORD_MS);
      reject(new Error(reason));
      if (!child.serves || stopping) return;
      log.error({ pid: spawned.pid, code }, 'a process ended by itself; it is replaced');
      void replace(number);
    });
    return promise;
  };
  const replace = async (number: number): Promise<void> => {
    for (let served = false; !served && !stopping; ) {
      await Bun.sleep(RESTART_PAUSE_MS);
      const start = async () => void (!stopping && (await startOne(number)));
      const isShared = children.values().some(({ serves }) => serves);
      const started = isShared ? start() : claimPort('PORT', { hostname, port }, start);
      served = await started.then(
        () => true,
        (error: unknown) => {
          if (!stopping) log.error({ err: error }, 'a process could not be replaced; it is tried again');
          return false;
        },
      );
    }
  };
  /** A process that hangs keeps its share of the port and of the work that one process does at a time. */
  const endSilent = (): void => {
    for (const child of children.values()) {
      child.silentFor += 1;
      if (child.silentFor <= (child.heard ? SILENT_MAX : SILENT_START_MAX)) continue;
      log.error({ pid: child.process.pid }, 'a process has given no sign of life for too long; it is killed');
      child.process.kill('SIGKILL');
      child.silentFor = 0;
    }
  };
  const watch = setInterval(endSilent, ALIVE_INTERVAL_MS);
  const signal = (name: NodeJS.Signals): void => {
    for (const child of children.values()) child.process.kill(name);
  };

  return {
    /** Resolves when all serve; rejects with what keeps one of them from it, which the operator has to mend. */
    async start(): Promise<void> {
      const numbers = Array.from({ length: config.processes }, (_, index) => index + 1);
      await claimPort('PORT', { hostname, port }, async () => {
        await Promise.all(numbers.map(startOne));
      });
    },
    reload: (): void => signal('SIGHUP'),
    /** Asks the processes to end, and kills those that have not ended within the time. */
    async end(timeoutMs: number): Promise<void> {
      stopping = true;
      const ended = Promise.all(children.values().map((child) => child.process.exited));
      signal('SIGTERM');
      if (!(await endsWithin(ended, timeoutMs))) signal('SIGKILL');
      clearInterval(watch);
    },
  };
}
