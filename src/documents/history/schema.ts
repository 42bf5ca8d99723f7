import { type Static, Type } from '@sinclair/typebox';
import { pageOf } from '../../http/paging.ts';
import { component, described, moment, nullable, oneOf, text } from '../../http/schemas.ts';
import { ACTIONS } from './store.ts';

const Change = component('DocumentFieldChange', 'A field that was changed.', {
  field: text('Its name.'),
  before: nullable(
    Type.String(),
    'Its value before, cut where it is long; null where it was empty, is not kept, or was not visible to the reader.',
  ),
  after: nullable(Type.String(), 'Its value afterwards, likewise.'),
});

const DocumentHistoryEntry = component('DocumentHistoryEntry', 'What a person did with a document.', {
  id: text('The identifier of the entry.'),
  created_at: moment('When.'),
  action: described(oneOf(ACTIONS), 'What was done; `content`: a text was given, or its reading decided.'),
  actor: nullable(
    Type.String(),
    'The e-mail of the person; null for an owner who was removed, or who gave the document away before the reader could see it.',
  ),
  via: nullable(Type.String(), 'How they were identified: `key` or `session`; null for an upload.'),
  key_id: nullable(
    Type.String(),
    'Their key; null for an upload, and for readers who do not own the document.',
  ),
  address: nullable(Type.String(), 'The address that the request came from; null likewise.'),
  changes: Type.Array(Change, { description: 'The fields that were changed.' }),
});
export type DocumentHistoryEntry = Static<typeof DocumentHistoryEntry>;

export const DocumentHistoryPage = pageOf(DocumentHistoryEntry, 'DocumentHistoryPage');

export const HISTORY_EXAMPLE: DocumentHistoryEntry = {
  id: '17',
  created_at: '2026-01-31T10:00:00.000Z',
  action: 'update',
  actor: 'ada@example.com',
  via: 'session',
  key_id: '0198e0f3-3e7d-7c5f-a3f4-0f2d7d1f0a11',
  address: '192.0.2.7',
  changes: [{ field: 'status', before: 'private', after: 'public' }],
};
