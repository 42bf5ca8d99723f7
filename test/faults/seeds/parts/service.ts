// The service as a part: its owner, its processes and its whole group, which are killed, paused, ended and started again.

import { type Child, eventually, startChild } from '../../../support/child.ts';
import { MAIN } from '../../../support/service.ts';
import type { Part } from './part.ts';
import { childrenOf, runningOn, signalProcess } from './processes.ts';

/** Time for a shutdown in order. */
export const SHUTDOWN_MS = 8000;
const READY_MS = 120_000;
const STANDSTILL_MS = 50;

export type ServicePart = Part & {
  /** SIGTERM; resolves with the exit code. */
  end(): Promise<number | undefined>;
  /** Everything that runs on the folder stands still until `kill`, and nothing is started until `release`. */
  freeze(dataDir: string): Promise<{ kill(): void; release(): void }>;
  /** All of it at once, like a machine that stops; the embedded database as well. */
  group: Part;
  /** One process of several. */
  process: Part;
  /** What every start has written. */
  output(): string;
  /** The last output of processes that ended after they had served, although no fault had killed them. */
  endedByItself: string[];
  abandon(): Promise<void>;
};

export function createService(environment: () => Record<string, string>): ServicePart {
  let child: Child | undefined;
  let earlier = '';
  let wanted = false;
  /** Settled unless the machine has no power. */
  let held: Promise<void> = Promise.resolve();
  let starting: Promise<void> | undefined;
  const endedByItself: string[] = [];

  /** As a service manager does it: again, until it serves or is not wanted any more. */
  const launch = async (): Promise<void> => {
    const until = performance.now() + READY_MS;
    while (wanted) {
      if (performance.now() > until) throw new Error(`the service does not start: ${earlier.slice(-1500)}`);
      const started = startChild([process.execPath, MAIN], { detached: true, environment: environment() });
      child = started;
      let exited = false;
      void started.exited.then((code) => {
        exited = true;
        earlier += started.output();
        if (!wanted || child !== started) return;
        child = undefined;
        if (hasServed(started)) {
          endedByItself.push(`code ${code}: ${started.output().slice(-1500)}`);
          void begin().catch((error: Error) => endedByItself.push(error.message));
        }
      });
      await eventually('the service to serve', () => exited || hasServed(started), READY_MS);
      if (!exited) return;
      await Bun.sleep(200);
    }
  };
  const begin = (): Promise<void> => {
    starting ??= launch().finally(() => {
      starting = undefined;
    });
    return starting;
  };
  const gone = async (how: (running: Child) => void): Promise<number | undefined> => {
    wanted = false;
    const running = child;
    child = undefined;
    if (running === undefined) return undefined;
    how(running);
    const code = await running.exited;
    // The next start ends the processes of the group that still run.
    return code;
  };
  const killOwner = (running: Child): void => signalProcess(running.pid, 'SIGKILL');
  const start = async (): Promise<void> => {
    await held;
    wanted = true;
    if (child === undefined) await begin();
  };
  const pause = (pids: () => number[]) => (): (() => void) => {
    const paused = pids();
    for (const pid of paused) signalProcess(pid, 'SIGSTOP');
    return () => {
      for (const pid of paused) signalProcess(pid, 'SIGCONT');
    };
  };
  const ownPid = (): number[] => (child === undefined ? [] : [child.pid]);
  const onePid = (): number[] => ownPid().flatMap(childrenOf).slice(0, 1);
  return {
    kill: async () => void (await gone(killOwner)),
    start,
    pause: pause(ownPid),
    end: () =>
      gone((running) => {
        signalProcess(running.pid, 'SIGCONT');
        signalProcess(running.pid, 'SIGTERM');
        const late = setTimeout(() => running.kill('SIGKILL'), SHUTDOWN_MS * 6);
        void running.exited.then(() => clearTimeout(late));
      }),
    async freeze(dataDir) {
      const { promise, resolve: release } = Promise.withResolvers<void>();
      held = promise;
      wanted = false;
      child = undefined;
      const pids = runningOn(dataDir);
      for (const pid of pids) signalProcess(pid, 'SIGSTOP');
      // Threads that were in a call finish it.
      await Bun.sleep(STANDSTILL_MS);
      const kill = (): void => {
        for (const pid of pids) signalProcess(pid, 'SIGKILL');
      };
      return { kill, release };
    },
    group: {
      kill: async () => void (await gone((running) => running.kill('SIGKILL'))),
      start,
      pause: pause(ownPid),
    },
    process: {
      kill: async () => onePid().forEach((pid) => void signalProcess(pid, 'SIGKILL')),
      start: async () => undefined,
      pause: pause(onePid),
    },
    output: () => earlier + (child?.output() ?? ''),
    endedByItself,
    abandon: async () => void (await gone((running) => running.kill('SIGKILL'))),
  };
}

const hasServed = (child: Child): boolean => child.output().includes('listens on');
