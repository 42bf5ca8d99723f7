// Documents as lines of COPY, for the three tables that hold what their writers know of them.

import type { Document } from '../../src/documents/document.ts';
import type { SearchEntry } from '../../src/documents/search/entry.ts';

export const COLUMNS = {
  documents:
    'id, workspace_id, upload_id, owner_id, name, object_key, created_at, file_size, file_type, file_hash, tags, ' +
    'categories, summary, access, slots, curators, status, status_before_bin, deleted_at, archived_at',
  document_search:
    'id, workspace_id, class, owner_id, created_at, name, file_size, file_type, file_hash, terms',
  document_texts: 'id, object_key, summary, access, slots, words, complete',
} as const;

export type CopiedTable = keyof typeof COLUMNS;

type Value = string | number | boolean | Date | object | readonly string[] | null;

/** One line a table. */
export function toLines(document: Document, entry: SearchEntry): Record<CopiedTable, string> {
  const { id, workspaceId, ownerId, createdAt, fileSize } = document;
  return {
    documents: toLine([
      id,
      workspaceId,
      document.uploadId,
      ownerId,
      document.name,
      document.objectKey,
      createdAt,
      fileSize,
      document.fileType,
      document.fileHash,
      document.tags,
      document.categories,
      document.summary,
      document.access,
      document.slots,
      document.curators,
      document.status,
      document.deletedAt === null ? null : 'public',
      document.deletedAt,
      document.archivedAt,
    ]),
    document_search: toLine([
      id,
      workspaceId,
      classOf(document),
      ownerId,
      createdAt,
      entry.name,
      fileSize,
      entry.fileType,
      entry.fileHash,
      entry.terms,
    ]),
    document_texts: toLine([
      id,
      entry.objectKey,
      entry.summary,
      entry.access,
      entry.slots,
      entry.words,
      entry.complete,
    ]),
  };
}

/** What the function document_class gives; the loader compares the two. */
function classOf({ status, archivedAt }: Document): number {
  return ['public', 'private', 'deleted'].indexOf(status) + (archivedAt === null ? 0 : 3);
}

const toLine = (values: readonly Value[]): string => `${values.map(toField).join('\t')}\n`;

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const escapeText = (text: string): string =>
  text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? '');

function toField(value: Value): string {
  if (value === null) return '\\N';
  if (typeof value === 'string') return escapeText(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return escapeText(`{${value.map(quote).join(',')}}`);
  return escapeText(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

const quote = (item: string): string => `"${item.replace(/[\\"]/g, '\\$&')}"`;
