/** Whether the programs at hand can run on the data that is there: each major version of Postgres has files of its own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBinaries } from './binaries.ts';
import { CLUSTER } from './cluster.ts';

/**
 * Changes nothing. A folder without a cluster is fine.
 *
 * @throws Error of one line that says what to do with the data of another major version, older or newer.
 */
export function checkDataVersion(directory: string): void {
  const cluster = join(directory, CLUSTER);
  const ofData = read(join(cluster, 'PG_VERSION'))?.trim();
  if (ofData === undefined) return;
  // "# PostgreSQL 18"
  const ofProgram = /^# PostgreSQL (\d+)/.exec(read(findBinaries().catalogue) ?? '')?.[1];
  // The code that starts the program reports why it cannot run.
  if (ofProgram === undefined || ofProgram === ofData) return;
  throw new Error(
    `The data in ${cluster} is of PostgreSQL ${ofData}, which this version of Atrium cannot read: it brings PostgreSQL ` +
      `${ofProgram}. Nothing was changed. Start the version of Atrium that ran on it last, and take the data over as ` +
      'docs/operating/running.md says under "Another PostgreSQL"',
  );
}

/** Undefined where there is no cluster, or none that says its version, which its server complains of. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
