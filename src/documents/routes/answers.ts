// What the routes of the area have in common.

import type { Document } from '../document.ts';
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

/** One document as the body of an answer. */
export type Render = (document: Document) => object;
