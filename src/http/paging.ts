// Lists in pages, newest first, with keyset cursors: a cursor has the position of the last row of its page, so that rows
// that are inserted or deleted in the meantime neither repeat others nor hide them.

import { type TSchema, Type } from '@sinclair/typebox';
import { TIME_MAX_MS } from '../core/date-time.ts';
import { valueError } from '../core/errors.ts';
import { answer } from './input.ts';
import { component, text } from './schemas.ts';

const PAGE_SIZE_MAX = 100;
const PAGE_SIZE_DEFAULT = 50;

export const PageQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PAGE_SIZE_MAX,
      default: PAGE_SIZE_DEFAULT,
      description: 'Rows in a page.',
    }),
  ),
  cursor: Type.Optional(text('The `next_cursor` of the page before; blank: first page.')),
});

/** The schema of a page of `item`, as the component `id`. */
export const pageOf = <Item extends TSchema>(item: Item, id: string) =>
  component(id, 'A page of a list.', {
    items: Type.Array(item, { description: 'The rows of the page.' }),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'The `cursor` of the next page; null on the last one.',
    }),
  });

/** The answer of an operation that gives a page; `example`: one of its rows. */
export const pageAnswer = <S extends TSchema>(description: string, schema: S, example: unknown) => ({
  200: answer({ description, schema, example: { items: [example], next_cursor: null } }),
});

/** Where a row stands in the order (created_at, id). */
export type Position = { createdAt: Date; id: string };

/** A row with its position; an integer stands as its digits in the cursor. */
type Placed = { createdAt: Date; id: string | number };

/** The requested rows: at most `limit` of the rows that follow `after` in the list. */
export type PageRequest = { limit: number; after: Position | undefined };

export type Page<Item> = { items: Item[]; next_cursor: string | null };

/**
 * The page that a list's query requests. `isId`: whether a text can be the id of a row.
 * Throws ValidationFailure for a cursor that no page has returned.
 */
export function toPageRequest(
  query: { limit?: number; cursor?: string },
  isId: (text: string) => boolean,
): PageRequest {
  const limit = query.limit ?? PAGE_SIZE_DEFAULT;
  if (query.cursor === undefined || query.cursor === '') return { limit, after: undefined };
  const after = parseCursor(query.cursor);
  if (after === undefined || !isId(after.id))
    throw valueError(['query', 'cursor'], 'the cursor is not one that this list has given', query.cursor);
  return { limit, after };
}

/** A page of `rows`, which have one row more than the limit where others follow. */
export function toPage<Row extends Placed, Item>(
  rows: readonly Row[],
  limit: number,
  render: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items: shown.map(render), next_cursor: more ? renderCursor(last) : null };
}

/** A position as opaque text that fits into a URL. */
export const renderCursor = ({ createdAt, id }: Placed): string =>
  Buffer.from(`${createdAt.getTime()}:${id}`).toString('base64url');

/** The position in a cursor; undefined for any text that `renderCursor` does not make. */
export function parseCursor(cursor: string): Position | undefined {
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, time, id] = /^(\d{1,15}):(.+)$/su.exec(text) ?? [];
  if (time === undefined || id === undefined || Number(time) > TIME_MAX_MS) return undefined;
  const position = { createdAt: new Date(Number(time)), id };
  return renderCursor(position) === cursor ? position : undefined;
}
