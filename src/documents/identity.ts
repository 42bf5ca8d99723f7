// What tells a database from every other, a restored copy apart: for what is kept outside of it on its behalf.

import type { Sql } from '../infra/postgres/client.ts';

/** Made with the schema; never changes. */
export async function readIdentity(sql: Sql): Promise<string> {
  const [row] = await sql<{ id: string }[]>`SELECT id FROM documents_identity`;
  if (row === undefined) throw new Error('the database has no identity');
  return row.id;
}
