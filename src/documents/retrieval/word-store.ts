// The words of passages: written with the passages, in their transaction, and later for those that have none.

import { createPauses } from '../../core/time-slices.ts';
import type { Sql, Transaction } from '../../infra/postgres/client.ts';
import { FIRST_ID } from '../rows.ts';
import { createLexemes, toVector } from './lexemes.ts';
import { CATCH_UP_PASSAGES } from './limits.ts';
import { passageWordsOf, VIETNAMESE } from './segmentation.ts';
import { createStemmer, type Stemmer, unstemmed } from './stems.ts';

/** Words of a passage as a reader divides it: separated by blanks, before stemming. */
export type PassageWords = string;

/** Added to the form of words in Vietnamese, which have pairs: no other documents are done again because of them. */
const FORM_WITH_PAIRS = 500;

/** Documents that are looked up at a time. */
const DOCUMENTS = 100;

type Owner = { id: string; workspaceId: string; language: string | null };
type WithoutWords = Owner & { revision: number };

export type WordStore = ReturnType<typeof createWordStore>;

export function createWordStore(sql: Sql, stemmer: Stemmer = createStemmer()) {
  /** The lengths and vectors of passages, for rows of `document_passage_words`. */
  const toRows = async (
    tx: Transaction,
    { workspaceId, language }: Owner,
    texts: readonly PassageWords[],
  ) => {
    const pause = createPauses();
    const divided: string[][] = [];
    const distinct = new Set<string>();
    for (const text of texts) {
      await pause();
      const words = text === '' ? [] : text.split(' ');
      divided.push(words);
      for (const word of words) distinct.add(word);
    }
    const [stems = unstemmed] = await stemmer.stem(tx, [language], distinct);
    const lexemes = createLexemes(workspaceId);
    const vectors: string[] = [];
    for (const words of divided) {
      await pause();
      vectors.push(toVector(lexemes, words, stems, { pairs: language === VIETNAMESE }));
    }
    return { lengths: divided.map(({ length }) => length), vectors };
  };

  const formOf = async (language: string | null): Promise<number> =>
    (await stemmer.form(sql)) + (language === VIETNAMESE ? FORM_WITH_PAIRS : 0);

  /** Documents without the words of their present text, in the order of their ids. */
  const withoutWords = async (after: string, limit: number): Promise<WithoutWords[]> => {
    const [form, paired] = [await formOf(null), await formOf(VIETNAMESE)];
    return sql<WithoutWords[]>`
      SELECT document_id AS id, workspace_id AS "workspaceId", language, revision FROM document_contents
      WHERE document_id > ${after} AND state = 'ready'
        AND (words_revision, words_form) IS DISTINCT FROM (revision,
          CASE WHEN language = ${VIETNAMESE} THEN ${paired}::integer ELSE ${form}::integer END)
      ORDER BY document_id LIMIT ${limit}`;
  };

  /** Replaces the words of a document, unless its text has changed since it was looked up. */
  const replace = async (document: WithoutWords, signal: AbortSignal): Promise<void> => {
    const form = await formOf(document.language);
    await sql.begin(async (tx) => {
      const current = await tx`
        UPDATE document_contents SET words_revision = revision, words_form = ${form}
        WHERE document_id = ${document.id} AND revision = ${document.revision} AND state = 'ready' RETURNING document_id`;
      if (current.length === 0) return;
      await tx`DELETE FROM document_passage_words WHERE document_id = ${document.id}`;
      const pause = createPauses();
      for (let from = 0; ; from += CATCH_UP_PASSAGES) {
        signal.throwIfAborted();
        const passages = await tx<{ id: string; text: string; heading: string | null }[]>`
          SELECT id::text AS id, text, heading FROM document_passages
          WHERE document_id = ${document.id} AND passage >= ${from} ORDER BY passage LIMIT ${CATCH_UP_PASSAGES}`;
        const words: PassageWords[] = [];
        for (const passage of passages) {
          await pause();
          words.push(passageWordsOf(passage));
        }
        const { lengths, vectors } = await toRows(tx, document, words);
        await tx`
          INSERT INTO document_passage_words (passage_id, document_id, workspace_id, length, words)
          SELECT passage_id, ${document.id}, ${document.workspaceId}, length, vector::tsvector
          FROM unnest(${passages.map(({ id }) => id)}::bigint[], ${lengths}::integer[], ${vectors}::text[])
            AS rows (passage_id, length, vector)`;
        if (passages.length < CATCH_UP_PASSAGES) return;
      }
    });
  };

  return {
    toRows,
    formOf,
    withoutWords,

    /** Makes the words of documents that have none, or words of an older form, as with other dictionaries of the server. */
    async catchUp(signal: AbortSignal): Promise<void> {
      for (let after = FIRST_ID; !signal.aborted; ) {
        const documents = await withoutWords(after, DOCUMENTS);
        for (const document of documents) {
          if (signal.aborted) return;
          await replace(document, signal);
        }
        const last = documents.at(-1);
        if (documents.length < DOCUMENTS || last === undefined) return;
        after = last.id;
      }
    },
  };
}
