// Which of the found passages the caller may see, asked of their documents in the statement that reads them: by the conditions
// of search, so that a filter leaves out here what it leaves out there.

import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import type { Passage as ReadPassage } from '../content/states.ts';
import type { Viewer } from '../policy.ts';
import { createConditions } from '../rows.ts';
import { any, union } from '../search/postgres/fragments.ts';
import type { SearchPlan } from '../search/postgres/statement.ts';
import { FEW_DOCUMENTS } from './limits.ts';

/** A passage as it is answered, without its score. */
export type Passage = ReadPassage & { documentId: string; name: string };

export function createVisible(sql: Transaction) {
  const { visible } = createConditions(sql);

  const idsOf = (plans: readonly SearchPlan[], end: Fragment = sql``): Fragment =>
    union(
      sql,
      plans.map(({ from, where }) => sql`(SELECT s.id FROM ${from()} WHERE ${where} ${end})`),
    );

  const readSome = (
    viewer: Viewer,
    plans: readonly SearchPlan[],
    passageIds: readonly string[],
    limit: number,
  ) => sql<(Passage & { index: number })[]>`
      SELECT p.document_id AS "documentId", d.name, p.passage, p.page, p.heading, p.text, p.starts_at AS start,
        p.ends_at AS "end", place::int - 1 AS index
      FROM unnest(${passageIds as string[]}::bigint[]) WITH ORDINALITY AS found (id, place)
      JOIN document_passages p ON p.id = found.id
      JOIN (SELECT id, name FROM documents
        WHERE workspace_id = ${viewer.workspaceId} AND ${visible(viewer)}) d ON d.id = p.document_id
      JOIN document_search s ON s.id = d.id JOIN document_texts t ON t.id = s.id
      WHERE ${any(
        sql,
        plans.map(({ where }) => sql`(${where})`),
      )} ORDER BY place LIMIT ${limit}`;

  /** That the viewer sees the document of a `document_id`. */
  const seen = (viewer: Viewer): Fragment =>
    sql`EXISTS (SELECT FROM documents WHERE documents.id = document_id AND ${visible(viewer)})`;

  return {
    seen,

    /** Those of the passages that the viewer sees. */
    async amongPassages(viewer: Viewer, passageIds: readonly string[]): Promise<Set<string>> {
      const found = await sql<{ id: string }[]>`
        SELECT id::text AS id FROM document_passages
        WHERE id = ANY (${passageIds as string[]}::bigint[]) AND ${seen(viewer)}`;
      return new Set(found.map(({ id }) => id));
    },

    /**
     * Those of the passages that the viewer may see, of documents that one of the planned searches finds, in the order given, at most
     * `limit`; the index says which each is.
     */
    async read(
      viewer: Viewer,
      plans: readonly SearchPlan[],
      passageIds: readonly string[],
      limit: number,
    ): Promise<(Passage & { index: number })[]> {
      const found: (Passage & { index: number })[] = [];
      // Mostly the first ones suffice: a statement joins and reads all that it is given.
      for (let [from, to] = [0, 2 * limit]; from < passageIds.length && found.length < limit; ) {
        const some = await readSome(viewer, plans, passageIds.slice(from, to), limit - found.length);
        for (const passage of some) found.push({ ...passage, index: from + passage.index });
        [from, to] = [to, passageIds.length];
      }
      return found;
    },

    /** The documents that the viewer may see, where they are few; else undefined. One that several alternatives find counts for each. */
    async few(plans: readonly SearchPlan[]): Promise<string[] | undefined> {
      const parts = idsOf(plans, sql`LIMIT ${FEW_DOCUMENTS + 1}`);
      const found = await sql<{ id: string }[]>`SELECT id FROM (${parts}) few LIMIT ${FEW_DOCUMENTS + 1}`;
      return found.length > FEW_DOCUMENTS ? undefined : found.map(({ id }) => id);
    },

    /** That a `document_id` is one of these; without them, that the viewer may see it. */
    among(plans: readonly SearchPlan[], documents: readonly string[] | undefined): Fragment {
      if (documents !== undefined) return sql`document_id = ANY (${documents as string[]}::uuid[])`;
      return sql`document_id IN (${idsOf(plans)})`;
    },
  };
}
