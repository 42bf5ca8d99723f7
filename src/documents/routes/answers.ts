// The answers that several routes of the area share.

import { answer, answers } from '../../http/input.ts';
import { renderCursor } from '../../http/paging.ts';
import type { Document } from '../document.ts';
import { DOCUMENT_EXAMPLE } from '../examples.ts';
import type { ListedDocuments } from '../rows.ts';
import { DocumentMetadataRead } from '../schema.ts';

export const READ = { key: { in: 'api-key-header', scope: 'documents:read' } } as const;
export const WRITE = { key: { in: 'api-key-header', scope: 'documents:write' } } as const;

/** The description of an answer that is one document. */
export const documentAnswer = (description: string) =>
  answer({ description, schema: DocumentMetadataRead, example: DOCUMENT_EXAMPLE });

export const removed = answers({ 204: { description: 'Done; no content.' } });

/** A page of the bin or the archive, in the order of `timeOf`; `renderRow` shows it with each row. */
export function renderList<Row>(
  { documents, count, more }: ListedDocuments,
  timeOf: (document: Document) => Date,
  renderRow: (document: ListedDocuments['documents'][number], at: string) => Row,
) {
  const last = documents.at(-1);
  return {
    items: documents.map((row) => renderRow(row, timeOf(row).toISOString())),
    count,
    ...(more && last !== undefined
      ? { next_cursor: renderCursor({ createdAt: timeOf(last), id: last.id }) }
      : {}),
  };
}
