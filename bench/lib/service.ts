// The service as `bun run start` starts it: the build, with the same variables, in a process of its own.

import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, freePort, startChild } from '../../test/support/child.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../test/support/service.ts';

const ROOT = join(import.meta.dir, '../..');
const MAIN = join(ROOT, 'build/server/main.js');
const READY_TIMEOUT_MS = 180_000;

export type BuiltService = AsyncDisposable & {
  url: string;
  pid: number;
  /** From the command to the first answered request. */
  readyMs: number;
  child: Child;
};

/** Builds the service, unless it is built. */
export function build(): void {
  const { exitCode } = Bun.spawnSync([process.execPath, join(ROOT, 'src/build.ts')], { stderr: 'inherit' });
  if (exitCode !== 0) throw new Error('The service could not be built');
}

/**
 * Starts it on the data folder, with an administrator's key (`BOOTSTRAP_KEY`) of the workspace `WORKSPACE`. It runs by a copy of the
 * runtime, which is kept in `folder`: the kernel divides the pages of a program among all processes that run it, and those of
 * other programs with the same runtime, such as this one, are not to make it look smaller.
 */
export async function startBuilt({
  folder,
  dataDir = join(folder, 'data'),
  environment = {},
}: {
  folder: string;
  dataDir?: string;
  environment?: Record<string, string>;
}): Promise<BuiltService> {
  const runtime = join(folder, 'bun');
  if (!existsSync(runtime)) copyFileSync(process.execPath, runtime);
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const startedAt = performance.now();
  const child = startChild([runtime, MAIN], {
    directory: ROOT,
    environment: {
      NODE_ENV: 'production',
      UV_THREADPOOL_SIZE: '64',
      BUN_CONFIG_MAX_HTTP_REQUESTS: '16384',
      PORT: String(port),
      DATA_DIR: dataDir,
      LOG_FORMAT: 'json',
      BOOTSTRAP_WORKSPACE: WORKSPACE,
      BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
      ...environment,
    },
  });
  const stop = (): Promise<void> => child.stop();
  try {
    await firstAnswer(url, child, startedAt + READY_TIMEOUT_MS);
    return {
      url,
      pid: child.pid,
      readyMs: performance.now() - startedAt,
      child,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Its line is read as soon as it comes, and no request is sent before: each would take from the start what it measures. */
async function firstAnswer(url: string, child: Child, deadline: number): Promise<void> {
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  while (!child.output().includes(`listens on ${url}`)) {
    if (ended || performance.now() > deadline)
      throw new Error(`The service did not start: ${child.output().slice(-2000)}`);
    await Bun.sleep(1);
  }
  const answer = await fetch(`${url}/healthz`);
  if (!answer.ok) throw new Error(`/healthz answered ${answer.status}`);
  await answer.arrayBuffer();
}
