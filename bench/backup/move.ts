// A move from embedded parts to a Postgres server and MinIO, and back: for how long the service is read-only.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readConnection } from '../../src/embedded/postgres/index.ts';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { startRealStore } from '../../test/support/object-stores.ts';
import { startPostgresServer } from '../../test/support/postgres-server.ts';
import { startService } from '../../test/support/service.ts';
import { printTable, whole } from '../lib/report.ts';
import { admin, fill, timed } from './index.ts';

type Report = { read_only_seconds: number; objects: number; objects_copied_last: number };

export async function run(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      documents: { type: 'string', default: '10000' },
      events: { type: 'string', default: '100000' },
      bytes: { type: 'string', default: '10000' },
    },
  });
  const [documents, events, bytes] = [values.documents, values.events, values.bytes].map(Number);
  const size = { documents: documents ?? 0, events: events ?? 0, bytes: bytes ?? 0 };
  const folder = mkdtempSync(join(tmpdir(), 'atrium-bench-move-'));
  await using begun = new AsyncDisposableStack();
  begun.defer(() => rmSync(folder, { recursive: true, force: true }));
  const store = await startRealStore('minio');
  begun.defer(store.stop);
  const database = begun.use(await startPostgresServer());
  const settings = { DATABASE_URL: database.url, ...store.environment, DATA_DIR: join(folder, 'data') };
  const rows: string[][] = [];
  const move = async (what: string, from: Record<string, string>, to: Record<string, string>) => {
    const target = join(folder, 'target.env');
    writeFileSync(
      target,
      Object.entries(to)
        .map((each) => `${each.join('=')}\n`)
        .join(''),
      { mode: 0o600 },
    );
    let report = '';
    const seconds = await timed(async () => {
      report = await admin(from['DATA_DIR'] ?? '', ['move', '--target', target, '--json'], from);
    });
    const { read_only_seconds, objects, objects_copied_last } = JSON.parse(report) as Report;
    rows.push([
      what,
      seconds.toFixed(1),
      read_only_seconds.toFixed(1),
      whole(objects),
      whole(objects_copied_last),
    ]);
  };
  {
    await using service = await startService({ postgres: 'embedded' });
    const { dataDir } = service;
    const url = readConnection(join(dataDir, 'postgres')) ?? '';
    const sql = connectPostgres({ url, applicationName: 'bench', log: silentLog, statementTimeoutMs: 0 });
    await fill(sql, dataDir, size);
    await sql.end();
    await move('from embedded parts to servers', { DATA_DIR: dataDir }, settings);
  }
  await move('from servers to embedded parts', settings, { DATA_DIR: join(folder, 'back') });
  printTable(
    `${whole(size.documents)} documents of ${whole(size.bytes)} bytes, ${whole(size.events)} events`,
    ['move', 'seconds', 'of them read-only', 'objects', 'copied in the last step'],
    rows,
  );
}
