// The workspaces of the searches: the corpus of the bench of search, in the database of a running service.

import { toSearchEntry } from '../../src/documents/search/entry.ts';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { silentLog } from '../../test/support/database.ts';
import { openCopies } from '../search/bulk.ts';
import { documentAt, type Workspace } from '../search/corpus.ts';
import { createAccess } from '../search/load.ts';
import { COLUMNS, toLines } from '../search/rows.ts';

export const workspaceOf = (documents: number): Workspace => ({
  id: `everyday-${documents}`,
  number: documents,
  documents,
  users: 20,
});

/** Documents, entries, words and keys; the triggers count them as they do any others. */
export async function fillWorkspace(databaseUrl: string, workspace: Workspace): Promise<void> {
  const sql = connectPostgres({
    url: databaseUrl,
    applicationName: 'bench',
    log: silentLog,
    statementTimeoutMs: 0,
  });
  try {
    await createAccess(sql, [workspace]);
    const copies = await openCopies(databaseUrl, COLUMNS);
    const words = new Set<string>();
    for (let position = 0; position < workspace.documents; position++) {
      const document = documentAt(workspace, position);
      const entry = await toSearchEntry(document);
      for (const word of entry.vocabulary) words.add(word);
      await copies.add(toLines(document, entry));
    }
    await copies.end();
    await sql`INSERT INTO document_words (word) SELECT unnest(${[...words].sort()}::text[]) ON CONFLICT DO NOTHING`;
    await sql.unsafe('VACUUM (ANALYZE)');
  } finally {
    await sql.end();
  }
}
