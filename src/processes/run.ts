// PROCESSES > 1: one process owns what is embedded, the others serve on one port.

import { createBootstrap } from '../access/index.ts';
import type { Config } from '../config.ts';
import { systemClock } from '../core/clock.ts';
import type { Logger, ProcessLog } from '../core/logger.ts';
import { toOrigin } from '../core/origin.ts';
import { connectDatabase } from '../database.ts';
import { type FirstKey, keepFirstKey } from '../first-key.ts';
import type { SETTINGS } from '../settings.ts';
import { announceStart } from '../welcome.ts';
import { type Backing, startBacking } from './backing.ts';
import { createChildren } from './children.ts';
import { ONE_OF_SEVERAL, SETTINGS_OF_OWNER } from './owner.ts';
import { renderEnding, type Signals } from './signals.ts';

/** Runs until a signal ends it; then ends every process, and the servers that they use after them. */
export async function runProcesses(config: Config, log: ProcessLog, signals: Signals): Promise<void> {
  const { ending } = signals;
  const startedAt = performance.now();
  const backing = await startBacking(config, log);
  const environment = { ...process.env, ...environmentOf(config, backing) };
  const children = createChildren({ config, environment, log });
  const startAll = async () => {
    const first = await bootstrapOnce(config, backing, log);
    await children.start();
    return first;
  };

  try {
    const first = await Promise.race([startAll(), ending]);
    if (typeof first !== 'string') {
      const url = toOrigin(config.server.host, config.server.port);
      const readyMs = Math.round(performance.now() - startedAt);
      announceStart(config, log, { url, readyMs, ...first });
    }
    signals.onReload(children.reload);
    const signal = await ending;
    const work = `${config.processes} processes finish their requests first`;
    log.info({ signal }, renderEnding(signal, { work, ...config.server }));
  } finally {
    await children.end(config.server.shutdownDelayMs + config.server.shutdownTimeoutMs);
    await backing.stop();
  }
}

type ChildEnvironment = Partial<
  Record<keyof typeof SETTINGS | typeof ONE_OF_SEVERAL | typeof SETTINGS_OF_OWNER, string>
>;

/** The settings of a child, with all addresses, instead of files that may hold them. */
function environmentOf(config: Config, backing: Backing): Record<string, string | undefined> {
  const settings = settingsOf(config, backing);
  return { ...Object.fromEntries(Object.keys(settings).map((name) => [`${name}_FILE`, ''])), ...settings };
}

/** The bootstrap is done before the child starts, and changes nothing when repeated. */
const settingsOf = (config: Config, backing: Backing): ChildEnvironment => ({
  PROCESSES: '1',
  [ONE_OF_SEVERAL]: '1',
  [SETTINGS_OF_OWNER]: JSON.stringify(config.settings),
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

async function bootstrapOnce(config: Config, backing: Backing, log: Logger): Promise<FirstKey> {
  const sql = await connectDatabase(backing.databaseUrl, log);
  try {
    return await keepFirstKey(config, createBootstrap({ sql, clock: systemClock, log }));
  } finally {
    await sql.end({ timeout: 5 });
  }
}
