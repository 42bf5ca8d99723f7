// Documents as resources: listed page by page, read as text.

import { parseDateTime } from '../core/date-time.ts';
import { ServiceError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import type { InnerCall } from '../http/inner-calls.ts';
import type { Excerpt } from './document-tools.ts';
import { RESOURCES_PAGE_SIZE, SUMMARY_LENGTH_MAX, TEXT_LENGTH_MAX } from './limits.ts';
import type { ToolCaller } from './tool.ts';

const PREFIX = 'atrium://documents/';

const template = (query: string, name: string, title: string, description: string) => ({
  uriTemplate: `${PREFIX}{document_id}${query}`,
  name,
  title,
  description,
  mimeType: 'text/plain',
});

export const RESOURCE_TEMPLATES = [
  template(
    '',
    'document',
    'Text of a document',
    `The text of a document, by its id; at most ${TEXT_LENGTH_MAX} characters, from the beginning.`,
  ),
  template(
    '{?offset}',
    'document-part',
    'Part of the text of a document',
    'The text from an offset in characters, as the offsets of passages are.',
  ),
  template('{?page}', 'document-page', 'Page of a document', 'One page, slide or sheet, counted from 1.'),
];

type Listed = {
  items: { id: string; name: string; summary: string | null; created_at: string }[];
  total: number;
};

/**
 * A place in the list, newest first: how many documents come before it among those that are no younger than the first one, so that
 * documents which are added meanwhile move nothing.
 */
type Place = { offset: number; until?: string };

/** Undefined for a cursor that is not ours. */
function parseCursor(cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return { offset: 0 };
  const match = /^(\d{1,9}) (\d{4}-\d\d-\d\dT[\d:.]+Z)$/.exec(
    Buffer.from(cursor, 'base64url').toString('latin1'),
  );
  const [, offset, until = ''] = match ?? [];
  return parseDateTime(until) === undefined ? undefined : { offset: Number(offset), until };
}

const renderCursor = ({ offset, until }: Place): string =>
  Buffer.from(`${offset} ${until}`).toString('base64url');

/** A page of the documents that the caller may see. Undefined for a cursor that is not ours. */
export async function listResources(call: InnerCall, caller: ToolCaller, cursor: string | undefined) {
  const place = parseCursor(cursor);
  if (place === undefined) return undefined;
  const { offset, until } = place;
  const page = (await call('documents.search', caller, {
    query: {
      order_by: ['created_at DESC'],
      created_at: until === undefined ? [] : [`lte:${until}`],
      limit: RESOURCES_PAGE_SIZE,
      offset,
    },
  })) as Listed;
  const next = offset + page.items.length;
  const first = until ?? page.items[0]?.created_at;
  return {
    resources: page.items.map(({ id, name, summary, created_at }) => ({
      uri: `${PREFIX}${id}`,
      name,
      mimeType: 'text/plain',
      ...(summary === null ? {} : { description: summary.slice(0, SUMMARY_LENGTH_MAX).toWellFormed() }),
      annotations: { lastModified: created_at },
    })),
    ...(page.items.length > 0 && next < page.total && first !== undefined
      ? { nextCursor: renderCursor({ offset: next, until: first }) }
      : {}),
  };
}

/** The text behind a URI. Undefined for one that names no document which the caller may see. */
export async function readResource(call: InnerCall, caller: ToolCaller, uri: string) {
  const match = /^atrium:\/\/documents\/([^/?#]+)(?:\?(offset|page)=(\d{1,9}))?$/.exec(uri);
  const [, id = '', unit, count = ''] = match ?? [];
  if (!isUuid(id)) return undefined;
  const query = unit === undefined ? {} : { [unit]: count };
  try {
    const excerpt = (await call('documents.excerpt', caller, {
      path: { file_id: id },
      query: { ...query, length: TEXT_LENGTH_MAX },
    })) as Excerpt;
    return { contents: [{ uri, mimeType: 'text/plain', text: withRest(excerpt) }] };
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'not-found') return undefined;
    throw error;
  }
}

const withRest = ({ document_id, next_offset, text }: Excerpt): string =>
  next_offset === null
    ? text
    : `${text}\n\n(The text goes on: ${PREFIX}${document_id}?offset=${next_offset})`;
