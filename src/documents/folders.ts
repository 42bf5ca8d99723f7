// The folders of a workspace, as the keys of its documents name them. A folder exists while a document that the viewer may see is in
// it or below it, and is neither archived nor in the bin.

import type { Fragment, Sql } from '../infra/postgres/client.ts';

/** `parent`: in its canonical form, `''` for the uppermost ones. `after`: the name of the folder before the first. */
export type FolderRequest = { workspaceId: string; parent: string; after: string | undefined; limit: number };

// The index has folders with these instead of slashes: the end of a segment, and what follows everything that is below it.
const END = '\u0001';
const BEHIND = '\u0002';

/** The names of the folders directly in `parent`, in order of their code points: one more than the limit where others follow. */
export async function readFolders(sql: Sql, visible: Fragment, request: FolderRequest): Promise<string[]> {
  const rows = await foldersStatement(sql, visible, request);
  return rows.map(({ name }) => name);
}

/** One look into the index for each folder, however many documents are in it. */
export function foldersStatement(
  sql: Sql,
  visible: Fragment,
  { workspaceId, parent, after, limit }: FolderRequest,
) {
  const above = parent === '' ? '' : `${parent.replaceAll('/', END)}${END}`;
  const folder = sql`documents_folder(object_key) COLLATE "C"`;
  const within = above === '' ? sql`true` : sql`${folder} < ${`${above.slice(0, -1)}${BEHIND}`}`;
  const nextAfter = (position: Fragment) => sql`
    SELECT ${folder} AS folder FROM documents
    WHERE workspace_id = ${workspaceId} AND deleted_at IS NULL AND archived_at IS NULL
      AND documents_folder(object_key) IS NOT NULL AND ${folder} > ${position} AND ${within} AND ${visible}
    ORDER BY ${folder} LIMIT 1`;
  const nameIn = (column: Fragment) =>
    sql`split_part(substr(${column}, length(${above}::text) + 1), ${END}, 1)`;
  const begin = after === undefined ? above : `${above}${after}${BEHIND}`;
  return sql<{ name: string }[]>`
    WITH RECURSIVE child AS (
      (${nextAfter(sql`${begin}`)})
      UNION ALL
      SELECT (${nextAfter(sql`${above} || ${nameIn(sql`child.folder`)} || ${BEHIND}`)})
      FROM child WHERE child.folder IS NOT NULL)
    SELECT ${nameIn(sql`folder`)} AS name FROM child WHERE folder IS NOT NULL LIMIT ${limit + 1}`;
}
