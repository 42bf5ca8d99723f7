// Which documents and passages the caller may see, by the conditions of search: a filter leaves out here what it leaves out there.

import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import type { Passage as ReadPassage } from '../content/states.ts';
import { any, union } from '../search/postgres/fragments.ts';
import type { SearchPlan } from '../search/postgres/statement.ts';
import { FEW_DOCUMENTS } from './limits.ts';

/** A passage as it is answered, without its score; `index` is its place among those that were asked for. */
export type Passage = ReadPassage & { documentId: string; name: string; index: number };

/** Documents that the planned searches find: all of them, unless there are more than `FEW_DOCUMENTS`; then so many and one. */
export async function findDocuments(sql: Transaction, plans: readonly SearchPlan[]): Promise<string[]> {
  const parts = plans.map(
    ({ from, where }) => sql`(SELECT s.id FROM ${from()} WHERE ${where} LIMIT ${FEW_DOCUMENTS + 1})`,
  );
  const found = await sql<{ id: string }[]>`
    SELECT DISTINCT id FROM (${union(sql, parts)}) found LIMIT ${FEW_DOCUMENTS + 1}`;
  return found.map(({ id }) => id);
}

export const areFew = (documents: readonly string[]): boolean => documents.length <= FEW_DOCUMENTS;

/** That a `document_id` is one of those that the planned searches find; `documents` as `findDocuments` found them. */
export const isAmong = (
  sql: Transaction,
  plans: readonly SearchPlan[],
  documents: readonly string[],
): Fragment =>
  areFew(documents)
    ? sql`document_id = ANY (${documents as string[]}::uuid[])`
    : sql`(${any(
        sql,
        // OFFSET keeps the planner from reading all documents of the workspace.
        plans.map(
          ({ from, where }) =>
            sql`EXISTS (SELECT FROM ${from()} WHERE s.id = document_id AND ${where} OFFSET 0)`,
        ),
      )})`;

/** Reads those of the passages, in the order given, whose documents the planned searches find now, at most `limit`. */
export const readPassages = (
  sql: Transaction,
  plans: readonly SearchPlan[],
  { ids, limit }: { ids: readonly string[]; limit: number },
): Promise<Passage[]> => sql<Passage[]>`
  SELECT p.document_id AS "documentId", d.name, p.passage, p.page, p.heading, p.text, p.starts_at AS start,
    p.ends_at AS "end", place::int - 1 AS index
  FROM unnest(${ids as string[]}::bigint[]) WITH ORDINALITY AS found (id, place)
  JOIN document_passages p ON p.id = found.id JOIN documents d ON d.id = p.document_id
  JOIN document_search s ON s.id = d.id JOIN document_texts t ON t.id = s.id
  WHERE ${any(
    sql,
    plans.map(({ where }) => sql`(${where})`),
  )} ORDER BY place LIMIT ${limit}`;
