// What the routes of the area have in common.

import { reply } from '../../http/operation.ts';
import { type Document, renderDocument } from '../document.ts';
import { DOCUMENT_EXAMPLE } from '../examples.ts';
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

/** One document as an answer. */
export type Answer = (status: number, document: Document) => Response;

export const createAnswer =
  (bucket: string): Answer =>
  (status, document) =>
    reply(status, renderDocument(document, bucket));
