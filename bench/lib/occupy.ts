// Processes that only take processor time, as a control for what the service's own work costs others.

import { setPriority } from 'node:os';

/** So many processes of a command that does not end by itself, at a niceness; disposing ends them. */
export function occupy(
  command: readonly string[],
  { count, niceness }: { count: number; niceness: number },
): AsyncDisposable {
  const children = Array.from({ length: count }, () => Bun.spawn([...command], { stdout: 'ignore' }));
  const end = (): void => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.on('exit', end);
  for (const { pid } of children) setPriority(pid, niceness);
  return {
    async [Symbol.asyncDispose]() {
      process.off('exit', end);
      end();
      await Promise.all(children.map(({ exited }) => exited));
    },
  };
}
