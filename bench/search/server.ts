// The service on the corpus, as `bun run start` runs it.

import { join } from 'node:path';
import { readConnection } from '../../src/embedded/postgres/index.ts';
import { type Child, eventually, startChild } from '../../test/support/child.ts';
import { LARGE, type Workspace } from './corpus.ts';
import { keyOf } from './load.ts';

export type Server = { url: string; databaseUrl: string; child: Child };

/** The embedded Postgres of the folder comes with it. Throws with what it said when it ends instead of listening. */
export async function startServer(
  folder: string,
  large: Workspace,
  environment: Record<string, string> = {},
): Promise<Server> {
  const child = startChild([process.execPath, join(import.meta.dir, '../../src/main.ts')], {
    environment: {
      NODE_ENV: 'production',
      PORT: '0',
      DATA_DIR: folder,
      LOG_FORMAT: 'json',
      BOOTSTRAP_WORKSPACE: LARGE,
      BOOTSTRAP_API_KEY: keyOf(large, 'admin'),
      ...environment,
    },
  });
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  const url = await eventually(
    'the service to listen',
    () => {
      if (ended) throw new Error(`the service ended: ${child.output()}`);
      return /listens on (\S+)/.exec(child.output())?.[1];
    },
    120_000,
  );
  const databaseUrl = readConnection(join(folder, 'postgres'));
  if (databaseUrl === undefined) throw new Error('the service runs without its Postgres');
  return { url, databaseUrl, child };
}
