// What the rank of a word is made of: how many passages a workspace has, how long they are, and which words are common in them.
// Rare words are counted where they are looked for; those of a large workspace that many passages have come from a sample.

import { LRUCache } from 'lru-cache';
import type { Fragment, Sql, Transaction } from '../../infra/postgres/client.ts';
import type { Viewer } from '../policy.ts';
import { createConditions } from '../rows.ts';
import {
  COMMON_IN_SAMPLE_MIN,
  COMMON_KEPT_MAX,
  COUNTED_MAX,
  LANGUAGE_DOCUMENTS_MAX,
  SAMPLE_PASSAGES,
} from './limits.ts';
import { STEMMED_LANGUAGES } from './stems.ts';
import { VIETNAMESE } from './syllables.ts';
import { takeShares } from './take-shares.ts';

/** Languages that make a difference to a question. */
const LANGUAGES: readonly string[] = [...STEMMED_LANGUAGES, VIETNAMESE];

export type Statistics = {
  /** Passages of the workspace; about so many, where they are many. */
  passages: number;
  /** Words of a passage on average; 0 where there is none. */
  averageLength: number;
  /** ISO 639 codes of the languages of its documents: those whose words have stems or pairs. However many others there are, none is looked at. */
  languages: string[];
  /** Lexeme → share of the passages that have it; empty for a small workspace. */
  common: ReadonlyMap<string, number>;
};

type Row = Omit<Statistics, 'common'> & { takenAt: Date | null };

const NONE: ReadonlyMap<string, number> = new Map();

export type ReadStatistics = (viewer: Viewer) => Promise<Statistics>;

/**
 * That the viewer sees a document of the language, among the first ones of it; or that there are so many that a single one tells
 * nothing. Languages decide how words are compared, so a score may not say that somebody has stored a text in one.
 */
const seesLanguage = (sql: Transaction, viewer: Viewer): Fragment => {
  if (viewer.admin) return sql`true`;
  const documents = sql`SELECT document_id FROM document_contents c
    WHERE c.workspace_id = ${viewer.workspaceId} AND c.language = stemmed.language`;
  return sql`(EXISTS (
      SELECT FROM (${documents} LIMIT ${LANGUAGE_DOCUMENTS_MAX}) first JOIN documents ON documents.id = first.document_id
      WHERE ${createConditions(sql).visible(viewer)})
    OR EXISTS (${documents} OFFSET ${LANGUAGE_DOCUMENTS_MAX}))`;
};

/** Figures are read at each call, by the client that is given; the common words are kept. */
export function createReadStatistics() {
  const kept = new LRUCache<string, { takenAt: number; common: ReadonlyMap<string, number> }>({
    maxSize: COMMON_KEPT_MAX,
    sizeCalculation: ({ common }) => common.size + 1,
  });

  const readCommon = async (
    sql: Transaction,
    workspaceId: string,
    takenAt: number,
  ): Promise<ReadonlyMap<string, number>> => {
    const known = kept.get(workspaceId);
    if (known?.takenAt === takenAt) return known.common;
    const [row] = await sql<{ words: string[]; shares: number[] }[]>`
      SELECT words, shares FROM document_word_statistics WHERE workspace_id = ${workspaceId}`;
    const common = new Map(row?.words.map((word, index) => [word, row.shares[index] ?? 0]));
    kept.set(workspaceId, { takenAt, common });
    return common;
  };

  return async (sql: Transaction, viewer: Viewer): Promise<Statistics> => {
    const { workspaceId } = viewer;
    const [row] = await sql<Row[]>`
      WITH sampled AS (
        SELECT passages, average_length, taken_at FROM document_word_statistics WHERE workspace_id = ${workspaceId}),
      counted AS (
        SELECT count(*) AS passages, avg(length) AS average_length FROM (
          SELECT length FROM document_passage_words WHERE workspace_id = ${workspaceId}
            AND NOT EXISTS (SELECT FROM sampled) LIMIT ${COUNTED_MAX + 1}) rows)
      SELECT ARRAY (
          SELECT language FROM unnest(${LANGUAGES as string[]}::text[]) AS stemmed (language) WHERE language = (
            -- In the order of the index: where all documents have one language, any other would be looked for in the whole table.
            SELECT c.language FROM document_contents c
            WHERE c.workspace_id = ${workspaceId} AND c.language >= stemmed.language ORDER BY c.language LIMIT 1) AND ${seesLanguage(sql, viewer)}
        ) AS languages,
        coalesce((SELECT passages FROM sampled), counted.passages)::float8 AS passages,
        coalesce((SELECT average_length FROM sampled), counted.average_length, 0)::float8 AS "averageLength",
        (SELECT taken_at FROM sampled) AS "takenAt"
      FROM counted`;
    if (row === undefined) throw new Error('a statement without a row');
    const { takenAt, ...figures } = row;
    const common = takenAt === null ? NONE : await readCommon(sql, workspaceId, takenAt.getTime());
    return { ...figures, common };
  };
}

/** Takes the statistics of workspaces that have grown or shrunk by a fifth since, and of those that have become large. */
export function createTakeStatistics(sql: Sql) {
  return async (signal: AbortSignal): Promise<void> => {
    await sql`
      DELETE FROM document_word_statistics s
      WHERE (SELECT coalesce(sum(passages), 0) FROM document_contents c WHERE c.workspace_id = s.workspace_id) <= ${COUNTED_MAX / 2}`;
    await sql`
      DELETE FROM document_word_shares WHERE workspace_id NOT IN (SELECT workspace_id FROM document_word_statistics)`;
    const grown = await sql<{ workspaceId: string; passages: number }[]>`
      SELECT workspace_id AS "workspaceId", c.passages::float8 AS passages
      FROM (SELECT workspace_id, sum(passages) AS passages FROM document_contents GROUP BY 1) c
      LEFT JOIN document_word_statistics s USING (workspace_id)
      WHERE c.passages > ${COUNTED_MAX}
        AND (s.passages IS NULL OR abs(c.passages - s.passages) > s.passages / 5.0)`;
    for (const { workspaceId, passages } of grown) {
      if (signal.aborted) return;
      await takeStatistics(sql, workspaceId, passages);
    }
  };
}

async function takeStatistics(sql: Sql, workspaceId: string, passages: number): Promise<void> {
  const points = Math.min(SAMPLE_PASSAGES, Math.ceil(passages));
  // Points among the ids, and the passage that follows each: ids of other workspaces lie between them.
  const sample = await sql<{ id: string; length: number }[]>`
    SELECT DISTINCT passage_id::text AS id, length FROM (
      SELECT min(passage_id) AS first, max(passage_id) AS last FROM document_passage_words WHERE workspace_id = ${workspaceId}
    ) span, generate_series(0, ${points - 1}) AS point, LATERAL (
      SELECT passage_id, length FROM document_passage_words
      WHERE workspace_id = ${workspaceId} AND passage_id >= first + (last - first) * point / ${points}
      ORDER BY passage_id LIMIT 1) near`;
  if (sample.length === 0) return;
  const averageLength = sample.reduce((sum, { length }) => sum + length, 0) / sample.length;
  const ids = sample.map(({ id }) => id).join();
  await sql`
    INSERT INTO document_word_statistics (workspace_id, passages, average_length, words, shares)
    SELECT ${workspaceId}, ${passages}, ${averageLength}, coalesce(array_agg(word), '{}'),
      coalesce(array_agg(ndoc::real / ${sample.length}), '{}')
    FROM ts_stat(${`SELECT words FROM document_passage_words WHERE passage_id IN (${ids})`})
    WHERE ndoc >= ${COMMON_IN_SAMPLE_MIN}
    ON CONFLICT (workspace_id) DO UPDATE SET passages = excluded.passages, average_length = excluded.average_length,
      words = excluded.words, shares = excluded.shares, taken_at = clock_timestamp()`;
  await takeShares(sql, { workspaceId, passages, sample: sample.map(({ id }) => id) });
}
