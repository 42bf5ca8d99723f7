// The floors of everyday (floors.ts) behind the runtime's server. Argument: the database. The body of a request is a number; the port is
// printed.

import { parseJson } from '../../src/core/json.ts';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { WORKSPACE } from './side.ts';

const ROWS = 300;
/** As long as a vector of the built-in model. */
const VECTOR = Array.from({ length: 384 }, (_, index) => Math.fround(Math.sin(index) / 14));

const [url = ''] = process.argv.slice(2);
const sql = connectPostgres({
  url,
  applicationName: 'bench-floor',
  log: silentLog,
  json: { parse: parseJson, serialize: JSON.stringify },
  settings: {},
});
await sql`CREATE TABLE bench_rows (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text)`;
await sql`INSERT INTO bench_rows (text) SELECT 'a summary of it' FROM generate_series(1, ${ROWS})`;

const insert = (n: number) => sql`INSERT INTO bench_rows (text) VALUES (${`The message number ${n} of it.`})`;

const FLOORS: Readonly<Record<string, (n: number) => Promise<unknown>>> = {
  '/vector': async () => ({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: VECTOR }] }),
  '/page': async () => sql`
    SELECT event_id, source, type, subject, time, data, created_at FROM usage_events WHERE workspace_id = ${WORKSPACE}
    ORDER BY created_at, id LIMIT 51`,
  '/update': async (n) =>
    sql`UPDATE bench_rows SET text = ${`The summary number ${n} of it.`} WHERE id = ${1 + (n % ROWS)}`,
  // A message commits twice: when it is accepted, and when its answer is there.
  '/inserts': async (n) => {
    await insert(n);
    return insert(n);
  },
};

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const floor = FLOORS[new URL(request.url).pathname];
    if (floor === undefined) return new Response(null, { status: 404 });
    return Response.json(await floor(Number(await request.text())));
  },
});
console.log(server.port);
