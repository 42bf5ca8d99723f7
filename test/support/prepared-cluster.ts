// The folder of an embedded Postgres as a first start leaves it, made once a run (test/run.ts): setting one up costs a second of
// processor time, which only tests of first starts pay.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { hasCluster, startPostgres } from '../../src/embedded/postgres/index.ts';
import { migrate } from '../../src/infra/postgres/migrate.ts';
import { connectTo, MIGRATIONS, silentLog } from './database.ts';

/** The setting by which the processes of a run find it. A file that runs by itself has none, and sets up each server. */
const VARIABLE = 'TEST_CLUSTER';

/** Makes one with the schema in place. The result belongs in the environment of the tests. */
export async function prepareCluster(folder: string): Promise<Record<string, string>> {
  const directory = join(folder, 'prepared-postgres');
  const postgres = await startPostgres({ directory, log: silentLog });
  const sql = connectTo(postgres.url);
  await migrate(sql, { directory: MIGRATIONS, log: silentLog });
  await sql.end({ timeout: 5 });
  await postgres.stop();
  return { [VARIABLE]: directory };
}

/** Puts a copy into the folder of an embedded Postgres, unless that has a cluster already or the run has none prepared. */
export function usePreparedCluster(directory: string): void {
  const prepared = process.env[VARIABLE];
  if (prepared === undefined || hasCluster(directory)) return;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { success, stderr } = Bun.spawnSync(['cp', '-a', `${prepared}/.`, directory]);
  if (!success) throw new Error(`The prepared cluster could not be copied: ${stderr}`);
}
