// Writing the words of passages: with the passages, in their transaction, and later for those that have none.

import { nextTimeSlice, SLICE_MS } from '../../core/time-slices.ts';
import type { Sql, Transaction } from '../../infra/postgres/client.ts';
import { createLexemes, toVector } from './lexemes.ts';
import { createStemmer, type Stemmer, unstemmed } from './stems.ts';
import { VIETNAMESE } from './syllables.ts';

/** Words of a passage as a reader divides it: separated by blanks, before stemming. */
export type PassageWords = string;

/** Added to the form of words in Vietnamese, which have pairs: no other documents are done anew because of them. */
const FORM_WITH_PAIRS = 500;

export type WordStore = ReturnType<typeof createWordStore>;

type Owner = { id: string; workspaceId: string; language: string | null };

/** A document whose words are missing, or have another form. */
export type WithoutWords = Owner & { revision: number };

export function createWordStore(sql: Sql, stemmer: Stemmer = createStemmer()) {
  const toRows = async (
    tx: Transaction,
    { workspaceId, language }: Owner,
    texts: readonly PassageWords[],
  ) => {
    const divided: string[][] = [];
    const distinct = new Set<string>();
    let endsAt = performance.now() + SLICE_MS;
    for (const text of texts) {
      if (performance.now() > endsAt) endsAt = await nextTimeSlice();
      const words = text === '' ? [] : text.split(' ');
      divided.push(words);
      for (const word of words) distinct.add(word);
    }
    const [stems = unstemmed] = await stemmer.stem(tx, [language], distinct);
    const lexemes = createLexemes(workspaceId);
    const vectors: string[] = [];
    endsAt = performance.now() + SLICE_MS;
    for (const words of divided) {
      if (performance.now() > endsAt) endsAt = await nextTimeSlice();
      vectors.push(toVector(lexemes, words, stems, { pairs: language === VIETNAMESE }));
    }
    return { lengths: divided.map(({ length }) => length), vectors };
  };

  const formOf = async (language: string | null): Promise<number> =>
    (await stemmer.form(sql)) + (language === VIETNAMESE ? FORM_WITH_PAIRS : 0);

  return {
    toRows,
    formOf,

    /** Documents without the words of their present text, in the order of their ids. */
    withoutWords: async (after: string, limit: number): Promise<WithoutWords[]> => {
      const [form, paired] = [await formOf(null), await formOf(VIETNAMESE)];
      return sql<WithoutWords[]>`
        SELECT document_id AS id, workspace_id AS "workspaceId", language, revision FROM document_contents
        WHERE document_id > ${after} AND state = 'ready'
          AND (words_revision, words_form) IS DISTINCT FROM (revision,
            CASE WHEN language = ${VIETNAMESE} THEN ${paired}::integer ELSE ${form}::integer END)
        ORDER BY document_id LIMIT ${limit}`;
    },

    passagesOf: (id: string, from: number, limit: number) =>
      sql<{ passageId: string; text: string; heading: string | null }[]>`
        SELECT id::text AS "passageId", text, heading FROM document_passages
        WHERE document_id = ${id} AND passage >= ${from} ORDER BY passage LIMIT ${limit}`,

    /** Replaces the words of a document, unless its text has changed since it was read. */
    async replace(
      document: WithoutWords,
      parts: readonly { passageIds: string[]; words: PassageWords[] }[],
    ): Promise<void> {
      const form = await formOf(document.language);
      await sql.begin(async (tx) => {
        const current = await tx`
          UPDATE document_contents SET words_revision = revision, words_form = ${form}
          WHERE document_id = ${document.id} AND revision = ${document.revision} AND state = 'ready' RETURNING document_id`;
        if (current.length === 0) return;
        await tx`DELETE FROM document_passage_words WHERE document_id = ${document.id}`;
        for (const { passageIds, words } of parts) {
          const { lengths, vectors } = await toRows(tx, document, words);
          await tx`
            INSERT INTO document_passage_words (passage_id, document_id, workspace_id, length, words)
            SELECT passage_id, ${document.id}, ${document.workspaceId}, length, vector::tsvector
            FROM unnest(${passageIds}::bigint[], ${lengths}::integer[], ${vectors}::text[]) AS rows (passage_id, length, vector)`;
        }
      });
    },
  };
}
