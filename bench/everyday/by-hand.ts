// The statements written by hand, behind the runtime's server, with the client and the answers of the service. Arguments: the database,
// and the workspace as JSON. `GET /<index>` answers the shape of that index; the port is printed.

import { parseJson } from '../../src/core/json.ts';
import { type Document, renderDocument } from '../../src/documents/document.ts';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import type { Workspace } from '../search/corpus.ts';
import { SHAPES } from './shapes.ts';

const [url = '', workspaceText = '{}'] = process.argv.slice(2);
const workspace = JSON.parse(workspaceText) as Workspace;
const sql = connectPostgres({
  url,
  applicationName: 'bench-by-hand',
  log: silentLog,
  json: { parse: parseJson, serialize: JSON.stringify },
  settings: { jit: 'off', random_page_cost: '1.1', max_parallel_workers_per_gather: '0' },
});
const statements = SHAPES.map((shape) => shape.byHand(workspace));

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const statement = statements[Number(new URL(request.url).pathname.slice(1))];
    if (statement === undefined) return new Response(null, { status: 404 });
    const rows = await sql.unsafe<(Document & { total: number })[]>(
      statement.text,
      statement.values as never[],
      { prepare: true },
    );
    const items = rows.map((document) => renderDocument('atrium', document));
    return Response.json({ items, total: rows[0]?.total ?? 0, page: 1, size: 50, pages: 1 });
  },
});
console.log(server.port);
