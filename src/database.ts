// The database of the configuration: connecting to it, waiting for it, bringing it up to date.

import { join } from 'node:path';
import type { Config } from './config.ts';
import { explain, messageOf } from './core/errors.ts';
import { parseJson } from './core/json.ts';
import type { Logger } from './core/logger.ts';
import { SettingsError } from './core/settings-reader.ts';
import { openDataFolder } from './embedded/data-folder.ts';
import { hasCluster, readConnection, startPostgres } from './embedded/postgres/index.ts';
import { connectPostgres, isUnavailable, SESSION_MARK, type Sql } from './infra/postgres/client.ts';
import { migrate } from './infra/postgres/migrate.ts';

export const MIGRATIONS = join(import.meta.dir, 'infra/postgres/migrations');
/** The oldest version that the statements are written for. */
const POSTGRES_MAJOR_MIN = 15;
/** As long as a compose file may take to bring the database up. */
const DATABASE_WAIT_MS = 30_000;
const RETRY_MS = 500;

/** Where the embedded Postgres is, or would be. */
export const postgresFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'postgres');

const LOSSLESS = { parse: parseJson, serialize: JSON.stringify };

/**
 * A pool for searches alone, so that however many are slow, everything else has its connections. Postgres plans a statement anew
 * while that pays: in small workspaces planning takes as long as reading.
 */
export const connectForSearch = (url: string, log: Logger): Sql =>
  connectPostgres({
    url,
    applicationName: 'atrium-search',
    log,
    json: LOSSLESS,
    statementsMax: 1000,
    connectionsMax: 10,
    settings: {
      max_parallel_workers_per_gather: '0',
      // Pages are mostly in memory: reading them costs less than testing the rows in them.
      seq_page_cost: '0.2',
      random_page_cost: '0.22',
      work_mem: '32MB',
      jit: 'off',
      'pg_trgm.similarity_threshold': '0.25',
      // Of pgvector, where the database has it.
      'hnsw.ef_search': '400',
      'hnsw.iterative_scan': 'relaxed_order',
    },
  });

/**
 * Connects to the database and brings its schema up to date. A database that is still starting is waited for;
 * one that stays away, or refuses us, throws one line. `until`: the last migration to apply.
 */
export async function connectDatabase(
  url: string,
  log: Logger,
  migration: { until?: number } = {},
): Promise<Sql> {
  let connected = false;
  const told: Logger['warn'] = (fields, message) => (connected ? log.warn(fields, message) : undefined);
  const poolLog = { info: log.info.bind(log), warn: told };
  const sql = connectPostgres({ url, applicationName: 'atrium', log: poolLog, json: LOSSLESS });
  try {
    await untilReachable(log, async () => {
      await checkServer(sql);
      await migrate(sql, { directory: MIGRATIONS, log, ...migration });
    });
    connected = true;
    return sql;
  } catch (error) {
    await sql.end({ timeout: 1 });
    throw new Error(explainRefusal(error), { cause: error });
  }
}

/** Does a step of the start, and does it again while the database is away, for half a minute at most. Throws the step's error. */
export async function untilReachable<Value>(log: Logger, step: () => Promise<Value>): Promise<Value> {
  const deadline = performance.now() + DATABASE_WAIT_MS;
  for (let attempt = 0; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (!isUnavailable(error) || isFromPooler(error) || performance.now() > deadline) throw error;
      if (attempt === 0) {
        const seconds = DATABASE_WAIT_MS / 1000;
        log.warn({ err: error }, `the database is not reachable yet; waiting for it, ${seconds} s at most`);
      }
      await Bun.sleep(RETRY_MS);
    }
  }
}

/** Throws one line for a server that is too old, and for a connection pooler. */
async function checkServer(sql: Sql): Promise<void> {
  const [row] = await sql<{ major: number; mark: string | null }[]>`
    select current_setting('server_version_num')::int / 10000 as major, current_setting(${SESSION_MARK}, true) as mark`;
  if (row !== undefined && row.major < POSTGRES_MAJOR_MIN)
    throw new Error(
      `DATABASE_URL: the server is PostgreSQL ${row.major}, and ${POSTGRES_MAJOR_MIN} or newer is needed`,
    );
  if (row?.mark !== 'kept') throw new Error(POOLER);
}

/** Its sessions are those of other clients, too. */
const POOLER =
  'DATABASE_URL: a connection pooler, such as PgBouncer, answers there and does not keep sessions apart; Atrium needs them ' +
  'for LISTEN, advisory locks and time-outs: name the Postgres server itself, usually at port 5432';
/** In these words PgBouncer refuses settings of a session that it cannot keep. */
const isFromPooler = (error: unknown): boolean => /unsupported startup parameter/.test(messageOf(error));

function explainRefusal(error: unknown): string {
  const reason = explain(error);
  if (isFromPooler(error)) return POOLER;
  if (isUnavailable(error))
    return `DATABASE_URL: the database cannot be reached, tried for ${DATABASE_WAIT_MS / 1000} s: ${reason}`;
  // An error with a code comes from the server or from TLS: the user, the database or the certificate is refused.
  const refused = error instanceof Error && 'code' in error;
  return refused ? `DATABASE_URL: the database refuses the connection: ${reason}` : reason;
}

/**
 * The database of the configuration, for commands beside the service: the one that a running service embeds, or,
 * when none runs, one that is started for as long as the command takes. Throws SettingsError for a folder without one.
 */
export async function openDatabase(
  config: Config,
  log: Logger,
): Promise<{ sql: Sql; close(): Promise<void> }> {
  const running = config.databaseUrl ?? readConnection(postgresFolder(config));
  if (running !== undefined) {
    const sql = await connectDatabase(running, log);
    return { sql, close: () => sql.end({ timeout: 5 }) };
  }
  const directory = postgresFolder(config);
  if (!hasCluster(directory))
    throw new SettingsError(
      `DATA_DIR: ${JSON.stringify(config.dataDir)} holds no database; start the service on it first (bun run start), or set the folder that it runs on`,
    );
  const folder = openDataFolder(config.dataDir);
  try {
    const postgres = await startPostgres({ directory, log });
    const sql = await connectDatabase(postgres.url, log);
    return {
      sql,
      close: async () => {
        await sql.end({ timeout: 5 });
        await postgres.stop();
        folder.close();
      },
    };
  } catch (error) {
    folder.close();
    throw error;
  }
}
