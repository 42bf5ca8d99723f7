// PROCESSES > 1: one process owns what is embedded, the others serve on one port. A process that dies is replaced.

import type { Subprocess } from 'bun';
import { createAreas } from './areas.ts';
import type { Config } from './config.ts';
import { endsWithin } from './core/lifecycle.ts';
import type { Logger, ProcessLog } from './core/logger.ts';
import { toOrigin } from './core/origin.ts';
import { connectDatabase } from './database.ts';
import { keepFirstKey } from './first-key.ts';
import { createObjectStore } from './infra/s3/client.ts';
import { renderEnding, type Signals } from './signals.ts';
import { type Backing, startBacking } from './supervisor.ts';
import { announceStart } from './welcome.ts';

const RESTART_PAUSE_MS = 500;

/** Runs until told to end; then ends every process before what they stand on. */
export async function runProcesses(config: Config, log: ProcessLog, signals: Signals): Promise<void> {
  const { ending } = signals;
  const startedAt = performance.now();
  const backing = await startBacking(config, log);
  const children = new Set<Subprocess>();
  let stopping = false;

  /** Resolves when the process serves, rejects when it ends instead. One that served and ends is replaced. */
  const startOne = (): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let served = false;
    const child = Bun.spawn([process.execPath, `${import.meta.dir}/main.ts`], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...environmentOf(config, backing) },
      ipc: () => {
        served = true;
        resolve();
      },
    });
    children.add(child);
    void child.exited.then((code) => {
      children.delete(child);
      reject(new Error(`A process ended before it could serve (exit code ${code})`));
      if (!served || stopping) return;
      log.error({ pid: child.pid, code }, 'a process ended by itself; it is replaced');
      void replaceOne();
    });
    return promise;
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
  const startAll = async () => {
    const first = await bootstrapOnce(config, backing, log);
    // What keeps the first ones from serving (a port that is taken, say) is the operator's to put right.
    await Promise.all(Array.from({ length: config.processes }, startOne));
    return first;
  };

  try {
    const first = await Promise.race([startAll(), ending]);
    if (typeof first !== 'string') {
      const url = toOrigin(config.server.host, config.server.port);
      const readyMs = Math.round(performance.now() - startedAt);
      announceStart(config, log, { url, readyMs, ...first });
    }
    signals.onReload(() => {
      for (const child of children) child.kill('SIGHUP');
    });
    const signal = await ending;
    const work = `${config.processes} processes finish their requests first`;
    log.info({ signal }, renderEnding(signal, { work, ...config.server }));
  } finally {
    stopping = true;
    for (const child of children) child.kill('SIGTERM');
    const ended = Promise.all([...children].map((child) => child.exited));
    if (!(await endsWithin(ended, config.server.shutdownTimeoutMs)))
      for (const child of children) child.kill('SIGKILL');
    await backing.stop();
  }
}

/** What tells a child where everything is; the bootstrap is done before it starts, and changes nothing when repeated. */
const environmentOf = (config: Config, backing: Backing): Record<string, string> => ({
  PROCESSES: '1',
  ATRIUM_PROCESS_OF_SEVERAL: '1',
  DATABASE_URL: backing.databaseUrl,
  S3_ENDPOINT: backing.s3.endpoint,
  S3_PUBLIC_ENDPOINT: backing.s3.publicEndpoint,
  S3_ACCESS_KEY_ID: backing.s3.accessKeyId,
  S3_SECRET_ACCESS_KEY: backing.s3.secretAccessKey,
  OBJECT_STORE_PORT: '',
  COMPUTE_THREADS: `${config.compute.threads}`,
  BOOTSTRAP_API_KEY: '',
  LOG_FORMAT: config.log.format,
});

async function bootstrapOnce(config: Config, backing: Backing, log: Logger) {
  const { bucket, region, formProfile } = config.objects;
  const sql = await connectDatabase(backing.databaseUrl, log);
  const objects = createObjectStore({ ...backing.s3, bucket, region, formProfile });
  try {
    return await keepFirstKey(config, createAreas(config, { sql, searchSql: sql, objects }, log).bootstrap);
  } finally {
    objects.close();
    await sql.end({ timeout: 5 });
  }
}
