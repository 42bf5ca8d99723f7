// Processes that a test starts: each is ended with the test, whatever happens, and none outlives the run.

import type { Subprocess } from 'bun';

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

const STOP_TIMEOUT_MS = 15_000;

type ChildOptions = {
  environment?: Record<string, string | undefined>;
  directory?: string;
  /** Lets it lead a process group of its own, and a session. */
  detached?: boolean;
  /** Gives it a terminal for its input and output. */
  terminal?: boolean;
};

/** Starts a process whose output is collected. The environment is the given one alone, beside PATH and HOME. */
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
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...options.environment },
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
    await Promise.race([collected, Bun.sleep(500)]);
    return code;
  });
  return {
    pid: child.pid,
    output: () => output,
    exited,
    kill: (signal) => signalGroup(child, signal),
    type: (text) => void child.terminal?.write(text),
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(late);
    },
  };
}

/** To the process, or to its whole group where it leads one; an ended process is left alone. */
function signalGroup(child: Subprocess, signal: NodeJS.Signals): void {
  if (!groups.has(child)) child.kill(signal);
  else if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
}

/** Waits until `condition` gives something other than undefined or false; fails with `what` after the time. */
export async function eventually<Value>(
  what: string,
  condition: () => Value | undefined | false | Promise<Value | undefined | false>,
  timeoutMs = 20_000,
): Promise<Value> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`in vain waited for: ${what}`);
    await Bun.sleep(20);
  }
}

/** A loopback port that was free a moment ago. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}
