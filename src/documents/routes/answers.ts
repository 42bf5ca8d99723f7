// The answers that several routes of the area share.

import { renderCursor } from '../../http/paging.ts';
import type { Document, ShownDocument } from '../document.ts';
import { DOCUMENT_EXAMPLE } from '../examples.ts';
import type { ListedDocuments } from '../rows.ts';
import { DocumentMetadataRead } from '../schema.ts';

export const READ = { area: 'documents', credential: 'api-key-header', scope: 'documents:read' } as const;
export const WRITE = { area: 'documents', credential: 'api-key-header', scope: 'documents:write' } as const;

/** The description of an answer that is one document. */
export const documentAnswer = (description: string) => ({
  description,
  schema: DocumentMetadataRead,
  example: DOCUMENT_EXAMPLE,
});

export const removed = { 204: { description: 'Done; no content.' } };

export type Render = (document: ShownDocument) => object;

/** A page of the bin or the archive; `moment` orders it, and is shown with each row. */
export function renderList(
  { documents, count, more }: ListedDocuments,
  moment: 'deleted_at' | 'archived_at',
  render: Render,
): object {
  const timeOf = ({ deletedAt, archivedAt, createdAt }: Document): Date =>
    (moment === 'deleted_at' ? deletedAt : archivedAt) ?? createdAt;
  const last = documents.at(-1);
  return {
    items: documents.map((row) => ({ ...render(row), [moment]: timeOf(row).toISOString() })),
    count,
    ...(more && last !== undefined
      ? { next_cursor: renderCursor({ createdAt: timeOf(last), id: last.id }) }
      : {}),
  };
}
