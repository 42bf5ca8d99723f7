// The first workspace and key: as configured, or made and kept for the newcomer where Postgres is embedded.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Access } from './access/index.ts';
import type { Config } from './config.ts';
import { makeFolder, replaceFile } from './core/durable.ts';

const DEFAULT_WORKSPACE = 'default';
const FILE = 'first-key';
const fileOf = (workspace: string): string =>
  workspace === DEFAULT_WORKSPACE ? FILE : `${FILE}-${workspace}`;

/** `newKey`, `newLink`: the key, and the secret of a one-time link to the portal, where this start has made them. */
export type FirstKey = {
  workspace: string;
  newKey: string | undefined;
  newLink: string | undefined;
  keyFile: string | undefined;
};

/**
 * Idempotent. A key that is made here is kept in the data folder (0600), before the database has it, and returned at
 * the start that made it. Killed anywhere between: the next start makes another, or finds the kept one valid.
 */
export async function keepFirstKey(config: Config, bootstrap: Access['bootstrap']): Promise<FirstKey> {
  const { workspace: wanted, apiKey } = config.bootstrap;
  const workspace = wanted ?? DEFAULT_WORKSPACE;
  const none = { workspace, newKey: undefined, newLink: undefined, keyFile: undefined };
  if (apiKey !== undefined) {
    await bootstrap({ workspace, key: apiKey });
    return none;
  }
  // On an operator's own database nothing is made unasked.
  if (wanted === undefined && config.databaseUrl !== undefined) return none;
  const keyFile = join(config.dataDir, fileOf(workspace));
  const made = await bootstrap({ workspace, keep: (key) => keep(keyFile, key) });
  return {
    workspace,
    newKey: made.key,
    newLink: made.link,
    keyFile: isReadable(keyFile) ? keyFile : undefined,
  };
}

function keep(file: string, key: string): void {
  // Where nothing is embedded, nothing has made the folder.
  makeFolder(dirname(file));
  replaceFile(file, `${key}\n`);
}

function isReadable(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').trim() !== '';
  } catch {
    return false;
  }
}
