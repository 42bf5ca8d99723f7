// Starts store-process.ts and talks to it.
import { join } from 'node:path';

export interface ChildStore extends AsyncDisposable {
  readonly endpoint: string;
  /** Bytes of resident memory at its highest since the last call. */
  peakBytes(): Promise<number>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** From the moment that kill was called. */
  isKilled(): boolean;
}

export async function startChildStore(directory: string): Promise<ChildStore> {
  let answered = Promise.withResolvers<unknown>();
  const child = Bun.spawn(['bun', join(import.meta.dir, 'store-process.ts'), directory], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (message) => answered.resolve(message),
    onExit: () => answered.reject(new Error('the child process has ended')),
  });
  answered.promise.catch(() => undefined);
  let isKilled = false;
  const kill = async () => {
    isKilled = true;
    child.kill('SIGKILL');
    await child.exited;
  };
  const endpoint = await answered.promise;
  return {
    endpoint: String(endpoint),
    peakBytes: async () => {
      answered = Promise.withResolvers();
      child.send('peak');
      return Number(await answered.promise);
    },
    kill,
    isKilled: () => isKilled,
    [Symbol.asyncDispose]: kill,
  };
}
