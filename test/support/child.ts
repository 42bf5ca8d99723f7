// Processes that a test starts: each is ended with the test, whatever happens, and none outlives the run.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Subprocess } from 'bun';
import { machineNow } from './machine-time.ts';

const running = new Set<Subprocess>();
/** Those that lead a process group of their own. */
const groups = new WeakSet<Subprocess>();

process.on('exit', () => {
  for (const child of running) signalGroup(child, 'SIGKILL');
});

export type Child = {
  pid: number;
  /** Everything written to standard output and error so far. */
  output(): string;
  exited: Promise<number>;
  /** SIGTERM, and SIGKILL for one that does not end. */
  stop(): Promise<void>;
  /** Reaches the whole group of a detached one. */
  kill(signal: NodeJS.Signals): void;
  /** On a terminal, as if at its keyboard. */
  type(text: string): void;
};

/** Three times the time that the service gives itself, for a busy machine. */
const STOP_TIMEOUT_MS = 60_000;
/** Turns of the event loop in which output of an ended process is read: what it has left behind may keep its pipes open. */
const READING_TURNS = 20;
const READING_PAUSE_MS = 25;

type ChildOptions = {
  environment?: Record<string, string | undefined>;
  directory?: string;
  /** Lets it lead a process group of its own, and a session. */
  detached?: boolean;
  /** Gives it a terminal for its input and output. */
  terminal?: boolean;
};

/**
 * Starts a process whose output is collected. The environment is the given one alone, beside PATH, HOME,
 * TMPDIR, by which the end of the run finds it, and TZ.
 */
export function startChild(command: readonly string[], options: ChildOptions = {}): Child {
  let output = '';
  const collector = (): ((chunk: Uint8Array) => void) => {
    const decoder = new TextDecoder();
    return (chunk) => {
      output += decoder.decode(chunk, { stream: true });
    };
  };
  const onTerminal = collector();
  const child = Bun.spawn([...command], {
    ...(options.terminal
      ? { terminal: { cols: 200, data: (_terminal: Bun.Terminal, chunk: Uint8Array) => onTerminal(chunk) } }
      : { stdio: ['ignore', 'pipe', 'pipe'] as const }),
    detached: options.detached ?? false,
    ...(options.directory === undefined ? {} : { cwd: options.directory }),
    env: { ...inherited(), ...options.environment },
  });
  running.add(child);
  if (options.detached) groups.add(child);
  const collect = async (stream: ReadableStream<Uint8Array> | null): Promise<void> => {
    const take = collector();
    for await (const chunk of (stream ?? []) as unknown as AsyncIterable<Uint8Array>) take(chunk);
  };
  const collected = Promise.all([collect(child.stdout), collect(child.stderr)]);
  const exited = child.exited.then(async (code) => {
    running.delete(child);
    await Promise.race([collected, readingTurns()]);
    return code;
  });
  return {
    pid: child.pid,
    output: () => output,
    exited,
    kill(signal) {
      signalGroup(child, signal);
      if (signal === 'SIGSTOP') awaitStandstill(child.pid);
    },
    type: (text) => void child.terminal?.write(text),
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(late);
    },
  };
}

async function readingTurns(): Promise<void> {
  for (let turn = 0; turn < READING_TURNS; turn++) await Bun.sleep(READING_PAUSE_MS);
}

const inherited = (): Record<string, string | undefined> => {
  const { PATH, HOME, TMPDIR, TZ } = process.env;
  return { PATH, HOME, TMPDIR, TZ };
};

/** To the process, or to its whole group where it leads one; an ended process is left alone. */
function signalGroup(child: Subprocess, signal: NodeJS.Signals): void {
  if (!groups.has(child)) child.kill(signal);
  else if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
}

/** SIGSTOP to a process; returns when it stands still. */
export function freeze(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  awaitStandstill(pid);
}

/**
 * The signal alone takes its time: a thread that waits for a processor may still answer. One that waits for a disk (D) stops
 * before it goes on, and the disk may hang for as long as the test likes.
 */
function awaitStandstill(pid: number): void {
  const tasks = `/proc/${pid}/task`;
  const standsStill = (task: string): boolean => {
    try {
      return /\) [TtDZX] /.test(readFileSync(`${tasks}/${task}/stat`, 'latin1'));
    } catch {
      // It has ended.
      return true;
    }
  };
  while (existsSync(tasks) && !readdirSync(tasks).every(standsStill)) Bun.sleepSync(1);
}

const POLL_MS = { min: 20, max: 100 };
/** Of the time waited so far: a long wait is a twentieth longer, and asks a fifth as often. */
const POLL_SHARE = 0.05;

/**
 * Waits until `condition` gives something other than undefined or false; fails with `what` after the time, which passes
 * more slowly on a crowded machine.
 */
export async function eventually<Value>(
  what: string,
  condition: () => Value | undefined | false | Promise<Value | undefined | false>,
  timeoutMs = 60_000,
): Promise<Value> {
  const deadline = machineNow() + timeoutMs;
  const since = performance.now();
  for (;;) {
    const askedAt = performance.now();
    const value = await condition();
    if (value !== undefined && value !== false) return value;
    if (machineNow() > deadline) throw new Error(`in vain waited for: ${what}`);
    // A condition that is costly to ask for is asked for less often, and leaves the processor to what it waits for.
    const now = performance.now();
    const patience = Math.min(POLL_MS.max, POLL_SHARE * (now - since));
    await Bun.sleep(Math.max(POLL_MS.min, patience, now - askedAt));
  }
}

/**
 * A loopback port that is free. It is below those that the system gives out by itself, so that no connection takes it, and no other
 * call returns it as long as this process runs: neither before its server listens, nor before that is started again.
 */
export function freePort(): number {
  for (;;) {
    const port = FIRST_GIVEN_OUT - 1 - Math.floor(Math.random() * PORTS);
    if (reserve(port) && isFree(port)) return port;
  }
}

const LISTENER = { socket: { data() {} } };

/** Among all test processes, by a name of Linux that is no file, and that is free again when this process has ended. */
function reserve(port: number): boolean {
  if (process.platform !== 'linux') return true;
  try {
    Bun.listen({ ...LISTENER, unix: `\0atrium-test-port-${port}` }).unref();
    return true;
  } catch {
    return false;
  }
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ ...LISTENER, hostname: '127.0.0.1', port }).stop(true);
    return true;
  } catch {
    return false;
  }
}

const PORTS = 20_000;
const RANGE = '/proc/sys/net/ipv4/ip_local_port_range';
const FIRST_GIVEN_OUT = existsSync(RANGE) ? Number.parseInt(readFileSync(RANGE, 'utf8'), 10) : 49_152;
