// The floor: what it costs to read a page of documents whose ids are known, and to answer it, and nothing else.

import { parseJson } from '../../src/core/json.ts';
import { type Document, renderDocument } from '../../src/documents/document.ts';
import { documentColumns } from '../../src/documents/rows.ts';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { identityOf, type Workspace } from './corpus.ts';
import { createRandom, pick } from './random.ts';

const PAGE = 50;
const IDS_MAX = 100_000;

/** Serves pages of random documents with the client, the columns and the form of answer that the service has. */
export function startFloor(databaseUrl: string, workspace: Workspace) {
  const sql = connectPostgres({
    url: databaseUrl,
    applicationName: 'bench-floor',
    log: silentLog,
    json: { parse: parseJson, serialize: JSON.stringify },
  });
  const random = createRandom(1);
  const step = Math.max(1, Math.floor(workspace.documents / IDS_MAX));
  const ids = Array.from(
    { length: Math.floor(workspace.documents / step) },
    (_, at) => identityOf(workspace, at * step).id,
  );
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch() {
      const wanted = Array.from({ length: PAGE }, () => pick(random, ids));
      const documents = await sql<Document[]>`
        SELECT ${documentColumns(sql)} FROM documents WHERE id = ANY (${wanted}::uuid[])`;
      const items = documents.map((document) => renderDocument('atrium', document));
      return Response.json({ items, total: items.length, page: 1, size: PAGE, pages: 1 });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/`,
    async stop() {
      await server.stop(true);
      await sql.end({ timeout: 1 });
    },
  };
}
