// A process that stores the usage events of a journal.

import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { Journal } from '../../src/usage/buffer/journal/index.ts';
import { createSink } from '../../src/usage/sink.ts';
import { createDeadLetterStore } from '../../src/usage/store/dead-letters.ts';
import { createEventWriter } from '../../src/usage/store/writer.ts';
import { silentLog } from './database.ts';

const { DATABASE_URL = '', JOURNAL = '', LEASE_MS } = process.env;

const log = {
  ...silentLog,
  warn: (fields: { err?: unknown }) => void process.stdout.write(`${fields.err}\n`),
};
const sql = connectPostgres({ url: DATABASE_URL, applicationName: 'test-sink', log: silentLog });
const buffer = new Journal({ directory: JOURNAL, bytesMax: 2 ** 30, log: silentLog });
await buffer.start();
const sink = createSink({
  sql,
  buffer,
  log,
  lockLeaseMs: Number(LEASE_MS),
  writer: createEventWriter(sql),
  deadLetters: createDeadLetterStore(sql),
});
await sink.job.start();
const locks = () => sql`
  SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
while ((await locks()).length === 0) await Bun.sleep(20);
process.stdout.write('working\n');
