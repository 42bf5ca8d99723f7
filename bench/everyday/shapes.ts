// Twelve searches of every day, and beside each the statement that somebody would write by hand for it alone: one round trip, on the same
// tables, prepared once on each connection.

import { createTerms, wordPrefix } from '../../src/documents/search/terms.ts';
import { TAGS, userEmail, userId, type Workspace } from '../search/corpus.ts';
import { LANGUAGES } from '../search/vocabulary.ts';

export type Shape = {
  name: string;
  /** As the reader, who owns and curates some documents; else as the administrator. */
  reader?: true;
  query: string;
  byHand(workspace: Workspace): { text: string; values: unknown[] };
};

type Parts = { where?: string; from?: string; order?: string; values?: unknown[] };

const COLUMNS = `d.id, d.workspace_id AS "workspaceId", d.upload_id AS "uploadId", d.owner_id AS "ownerId", d.name,
  d.object_key AS "objectKey", d.created_at AS "createdAt", d.file_size::float8 AS "fileSize", d.file_type AS "fileType",
  d.file_hash AS "fileHash", d.tags, d.categories, d.summary, d.access, d.slots, d.curators, d.status,
  d.deleted_at AS "deletedAt", d.archived_at AS "archivedAt"`;

/** The values begin at $2. */
function statement(workspace: Workspace, { where = 'true', from = '', order, values = [] }: Parts) {
  const sorted = order ?? 's.created_at DESC, s.id';
  return {
    text: `SELECT ${COLUMNS}, page.total FROM (
        SELECT s.id, count(*) OVER () AS total, row_number() OVER (ORDER BY ${sorted}) AS place
        FROM document_search s ${from} WHERE s.workspace_id = $1 AND ${where} ORDER BY ${sorted} LIMIT 50) page
      JOIN documents d ON d.id = page.id ORDER BY page.place`,
    values: [workspace.id, ...values],
  };
}

const ALL = 's.class = ANY (ARRAY[0, 1]::smallint[])';
const TEXTS = 'JOIN document_texts t ON t.id = s.id';

const asAdmin = (
  name: string,
  query: string,
  parts: (terms: ReturnType<typeof createTerms>, workspace: Workspace) => Parts,
): Shape => ({
  name,
  query,
  byHand(workspace) {
    const { where, ...rest } = parts(createTerms(workspace.id), workspace);
    return statement(workspace, { ...rest, where: where === undefined ? ALL : `${ALL} AND ${where}` });
  },
});

const pdf = 's.terms @> ARRAY[$2::uuid]';

/** Each is frequent: a full page is found where the workspace is large. */
const [tag = '', word, name] = [TAGS[0], LANGUAGES.en[0], LANGUAGES.en[1]];

export const SHAPES: readonly Shape[] = [
  asAdmin('everything, newest first', '', () => ({})),
  asAdmin('a tag', `tags=any:${tag}`, ({ label }) => ({ where: pdf, values: [label('tags', tag)] })),
  {
    name: 'a tag, as the reader',
    query: `tags=any:${tag}`,
    reader: true,
    byHand(workspace) {
      const terms = createTerms(workspace.id);
      return statement(workspace, {
        where: `${pdf} AND (s.class = 0 OR (s.class = 1 AND (s.owner_id = $3::uuid OR s.terms @> ARRAY[$4::uuid])))`,
        values: [terms.label('tags', tag), userId(workspace, 0), terms.curator(userEmail(workspace, 0))],
      });
    },
  },
  asAdmin('two facets', `tags=any:${tag}&file_type=eq:pdf`, ({ label }) => ({
    where: 's.terms @> ARRAY[$2::uuid, $3::uuid]',
    values: [label('tags', tag), label('file_type', 'pdf')],
  })),
  asAdmin('not a tag', `tags=not_any:${tag}`, ({ label }) => ({
    where: `NOT ${pdf}`,
    values: [label('tags', tag)],
  })),
  asAdmin(
    'a year, oldest first',
    'created_at=gte:2025-01-01T00:00:00Z&created_at=lt:2026-01-01T00:00:00Z&order_by=created_at%20ASC',
    () => ({
      where: 's.created_at >= $2::timestamptz AND s.created_at < $3::timestamptz',
      order: 's.created_at, s.id',
      values: ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
    }),
  ),
  asAdmin('by name', 'order_by=name%20ASC', () => ({ order: 's.name, s.id' })),
  asAdmin('large ones, by size', 'file_size=gte:200000&order_by=file_size%20DESC', () => ({
    where: 's.file_size >= $2::bigint',
    order: 's.file_size DESC, s.id',
    values: [200_000],
  })),
  asAdmin('a slot', 'slots=eq:department->legal', ({ leaf }) => ({
    where: pdf,
    values: [leaf('slots', 'department', 'legal')],
  })),
  asAdmin('a name contains', `name=contains:${name}`, () => ({
    where: 's.name LIKE $2',
    values: [`%${name}%`],
  })),
  asAdmin('a summary contains', `summary=contains:${word}`, () => ({
    from: TEXTS,
    where: 't.summary LIKE $2',
    values: [`%${word}%`],
  })),
  asAdmin('q: one word', `q=${word}`, (_, workspace) => ({
    from: TEXTS,
    where: 't.words @@ $2::tsquery',
    order: 'ts_rank(t.words, $2::tsquery) DESC, s.created_at DESC, s.id',
    values: [`'${wordPrefix(workspace.id)}${word}':*`],
  })),
];
