// One set-up of a Postgres cluster a run: a copy of it takes a tenth of the processor time of another.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../src/embedded/postgres/index.ts';

const VARIABLE = 'TEST_CLUSTER';

/** The setting by which the processes of a run find the cluster, which is set up here and runs no more. */
export async function setUpCluster(): Promise<Record<string, string>> {
  const directory = mkdtempSync(join(tmpdir(), 'atrium-cluster-'));
  const log = { info() {}, warn() {} };
  const postgres = await startPostgres({ directory, log, settings: { fsync: 'off' } });
  await postgres.stop();
  return { [VARIABLE]: directory };
}

/** The cluster of the run and its password, into an empty folder; where there is none, Postgres sets up its own. */
export function copyCluster(directory: string): void {
  const cluster = process.env[VARIABLE];
  if (cluster === undefined) return;
  const { exitCode, stderr } = Bun.spawnSync(['cp', '-a', `${cluster}/.`, directory]);
  if (exitCode !== 0) throw new Error(`The cluster of the run could not be copied: ${stderr}`);
}
