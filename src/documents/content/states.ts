// What people see of documents' contents: states, passages, and how many of each there are.

import type { PageRequest } from '../../http/paging.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import type { Viewer } from '../policy.ts';
import { createConditions } from '../rows.ts';
import { type ContentState, readsFilesOf } from './store.ts';

export type Content = {
  /** Null for a document that is not known here yet. */
  state: ContentState | null;
  reason: string | null;
  language: string | null;
  pages: number | null;
  characters: number | null;
  passages: number | null;
  /** Whether a person gave the text. */
  given: boolean | null;
  revision: number | null;
  /** Whether files of the workspace are read. */
  readsFiles: boolean;
};

export type ListedContent = Content & { id: string; name: string; createdAt: Date };

export type Passage = {
  passage: number;
  page: number | null;
  heading: string | null;
  text: string;
  start: number;
  end: number;
};

/** The number of a workspace's documents in each state; documents without a state yet count as `unknown`. */
export type ContentCounts = Record<ContentState | 'unknown', number> & {
  passages: number;
  /** Documents whose passages have no vectors yet, of any model. */
  withoutVectors: number;
  /** Since when the first of those waits that are to be read; null where none does. */
  waitingSince: Date | null;
};

export type ContentStates = ReturnType<typeof createContentStates>;

export function createContentStates(sql: Sql) {
  const { visible } = createConditions(sql);
  const columns = sql`c.state, c.reason, c.language, c.pages, c.characters, c.passages, c.given_text IS NOT NULL AS given,
    c.revision, ${readsFilesOf(sql)}`;

  /** Those of the documents that the viewer sees. */
  const among = (viewer: Viewer, ids: readonly string[]): Promise<ListedContent[]> =>
    sql<ListedContent[]>`
      SELECT d.id, d.name, d.created_at AS "createdAt", ${columns}
      FROM (SELECT id, name, created_at, workspace_id FROM documents
        WHERE id = ANY (${ids as string[]}::uuid[]) AND workspace_id = ${viewer.workspaceId} AND ${visible(viewer)}) d
      LEFT JOIN document_contents c ON c.document_id = d.id ORDER BY d.id`;

  return {
    among,

    /** Undefined where the viewer sees no such document. */
    find: async (viewer: Viewer, id: string): Promise<Content | undefined> => (await among(viewer, [id]))[0],

    /** Documents in one of the states outside the bin, those that reached it last first; one row more than the limit where others follow. */
    list: (
      viewer: Viewer,
      states: readonly ContentState[],
      { limit, after }: PageRequest,
    ): Promise<ListedContent[]> =>
      sql<ListedContent[]>`
        SELECT d.id, d.name, c.changed_at AS "createdAt", ${columns}
        FROM document_contents c, LATERAL (SELECT id, name, workspace_id FROM documents
          WHERE id = c.document_id AND deleted_at IS NULL AND ${visible(viewer)}) d
        WHERE c.workspace_id = ${viewer.workspaceId} AND c.state = ANY (${states as string[]}::text[])
          AND ${after === undefined ? sql`true` : sql`(c.changed_at, c.document_id) < (${after.createdAt}, ${after.id})`}
        ORDER BY c.changed_at DESC, c.document_id DESC LIMIT ${limit + 1}`,

    /** Passages of a document from `from` on, `limit` at most; undefined where the viewer sees no such document. */
    async passages(
      viewer: Viewer,
      id: string,
      { from, limit }: { from: number; limit: number },
    ): Promise<Passage[] | undefined> {
      const rows = await sql<(Omit<Passage, 'passage'> & { passage: number | null })[]>`
        SELECT p.passage, p.page, p.heading, p.text, p.starts_at AS start, p.ends_at AS end
        FROM (SELECT id FROM documents
          WHERE id = ${id} AND workspace_id = ${viewer.workspaceId} AND ${visible(viewer)}) d
        LEFT JOIN document_passages p ON p.document_id = d.id AND p.passage >= ${from}
        ORDER BY p.passage LIMIT ${limit}`;
      return rows.length === 0 ? undefined : rows.filter((row): row is Passage => row.passage !== null);
    },

    /** It reads an entry of an index for each document of the workspace. */
    async count(workspaceId: string): Promise<ContentCounts> {
      const unembedded = sql<{ count: number }[]>`
        SELECT count(*)::float8 FROM document_contents c
        WHERE workspace_id = ${workspaceId} AND state = 'ready' AND passages > 0 AND NOT EXISTS (
          SELECT FROM document_embeddings e WHERE e.document_id = c.document_id AND e.revision = c.revision)`;
      const counted = sql<{ state: ContentState | null; documents: number; passages: number; since: Date }[]>`
        SELECT state, count(*)::float8 AS documents, sum(passages)::float8 AS passages, min(changed_at) AS since
        FROM document_contents WHERE workspace_id = ${workspaceId} GROUP BY state
        UNION ALL SELECT NULL, count(*)::float8, 0, now() FROM documents WHERE workspace_id = ${workspaceId}`;
      const [rows, [waiting]] = await Promise.all([counted, unembedded]);
      const counts = { pending: 0, ready: 0, empty: 0, unsupported: 0, failed: 0, off: 0, unknown: 0 };
      let [known, passages, waitingSince] = [0, 0, null as Date | null];
      for (const row of rows.filter(({ state }) => state !== null)) {
        counts[row.state as ContentState] = row.documents;
        known += row.documents;
        passages += row.passages;
        if (row.state === 'pending') waitingSince = row.since;
      }
      const all = rows.find(({ state }) => state === null)?.documents ?? 0;
      const withoutVectors = waiting?.count ?? 0;
      return { ...counts, unknown: Math.max(0, all - known), passages, withoutVectors, waitingSince };
    },
  };
}
