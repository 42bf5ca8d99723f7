// A part of what was found in a document, as it is kept: of its text, or of its passages with their words.

import type { Transaction } from '../../infra/postgres/client.ts';
import type { WordStore } from '../retrieval/word-store.ts';
import type { Chunk } from './protocol.ts';

export async function keepChunk(
  tx: Transaction,
  words: WordStore,
  document: { id: string; workspaceId: string; language: string | null },
  chunk: Chunk,
): Promise<void> {
  const { id, workspaceId } = document;
  if (chunk.kind === 'text') {
    await tx`
      INSERT INTO document_content_parts (document_id, format, part, text)
      VALUES (${id}, ${chunk.format}, ${chunk.part}, ${chunk.text})`;
    return;
  }
  const { passages, from } = chunk;
  const { lengths, vectors } = await words.toRows(tx, document, chunk.words);
  await tx`
    WITH rows AS (
      SELECT ${from}::integer + no::integer - 1 AS passage, page, heading, text, starts_at, ends_at, length, vector
      FROM unnest(${passages.map(({ page }) => page)}::integer[], ${passages.map(({ heading }) => heading)}::text[],
        ${passages.map(({ text }) => text)}::text[], ${passages.map(({ start }) => start)}::integer[],
        ${passages.map(({ end }) => end)}::integer[], ${lengths}::integer[], ${vectors}::text[])
        WITH ORDINALITY AS rows (page, heading, text, starts_at, ends_at, length, vector, no)),
    kept AS (
      INSERT INTO document_passages (document_id, workspace_id, passage, page, heading, text, starts_at, ends_at)
      SELECT ${id}, ${workspaceId}, passage, page, heading, text, starts_at, ends_at FROM rows
      RETURNING id, passage)
    INSERT INTO document_passage_words (passage_id, document_id, workspace_id, length, words)
    SELECT id, ${id}, ${workspaceId}, length, vector::tsvector FROM kept JOIN rows USING (passage)`;
}
