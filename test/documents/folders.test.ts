// The folders of a library are read from their index, however many documents are in them.

import { expect, test } from 'bun:test';
import { foldersStatement, readFolders } from '../../src/documents/folders.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const { sql } = await shared(testDatabase());
const WORKSPACE = 'acme';
const FOLDERS = 20;

type Plan = {
  'Node Type': string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: Plan[];
};

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

test('a list costs a look for each folder, and no reading of the documents in them', async () => {
  await sql`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status)
    SELECT gen_random_uuid(), ${WORKSPACE}, gen_random_uuid(), gen_random_uuid(), 'a.txt',
      ${`${WORKSPACE}/`} || CASE WHEN n % 2 = 0 THEN '' ELSE 'top/f' || (n % ${2 * FOLDERS}) || '/' END
        || gen_random_uuid() || '.txt', 'public'
    FROM generate_series(1, 20000) n`;
  await sql`ANALYZE documents`;
  const request = { workspaceId: WORKSPACE, parent: 'top', after: undefined, limit: 100 };
  expect((await readFolders(sql, sql`true`, request)).length).toBe(FOLDERS);
  const [row] = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }[]>`
    EXPLAIN (ANALYZE, FORMAT JSON) ${foldersStatement(sql, sql`true`, request)}`;
  const scans = nodesOf(row?.['QUERY PLAN'][0].Plan as Plan).filter(
    (node) => node['Index Name'] !== undefined,
  );
  expect(scans.map((node) => node['Index Name'])).toEqual(['documents_by_folder', 'documents_by_folder']);
  const rows = scans.reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0);
  // Each folder, and once that none follows.
  expect(rows).toBeLessThanOrEqual(FOLDERS + 1);
});
