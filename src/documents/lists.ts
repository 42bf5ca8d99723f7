// The bin and the archive as lists: the interface's `items` and `count`, with a cursor where a list is long.

import { isUuid } from '../core/ids.ts';
import { renderCursor, toPageRequest } from '../http/paging.ts';
import { type Document, renderDocument } from './document.ts';
import type { ListedDocuments, ListPage } from './listed.ts';

/** Which column orders a list, and is shown with each of its rows. */
type Moment = 'deleted_at' | 'archived_at';

const momentOf = (document: Document, moment: Moment): Date =>
  (moment === 'deleted_at' ? document.deletedAt : document.archivedAt) ?? document.createdAt;

/** Throws ValidationFailure for a cursor that no page has given. */
export function toListPage(query: { limit: number; cursor?: string }): ListPage {
  const { limit, after } = toPageRequest(query, isUuid);
  return { limit, ...(after === undefined ? {} : { after: { time: after.createdAt, id: after.id } }) };
}

export function renderList(listed: ListedDocuments, bucket: string, moment: Moment) {
  const last = listed.documents.at(-1);
  return {
    items: listed.documents.map((document) => ({
      ...renderDocument(document, bucket),
      [moment]: momentOf(document, moment).toISOString(),
    })),
    count: listed.count,
    ...(listed.more && last !== undefined
      ? { next_cursor: renderCursor({ createdAt: momentOf(last, moment), id: last.id }) }
      : {}),
  };
}
