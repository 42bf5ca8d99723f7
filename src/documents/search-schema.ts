// The shapes of search: filter parameters, paging, and the page that answers them.

import { type Static, Type } from '@sinclair/typebox';
import { Parsed } from '../http/parsed.ts';
import { component, nullable, oneOf } from '../http/schemas.ts';
import type { Filter } from './filter/ast.ts';
import { ATTRIBUTES, type Attribute } from './filter/attributes.ts';
import { parseFilter } from './filter/grammar.ts';
import { DEFAULT_ORDER_TEXT, parseOrder } from './filter/order.ts';
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, QUERY_TEXT_LENGTH_MAX, WINDOW_LIMIT_DEFAULT } from './limits.ts';
import { DocumentMetadataRead } from './schema.ts';

const EMPTINESS =
  'Whether there is a value is asked with `is_empty:true` or `is_empty:false`: without the colon the word itself is the ' +
  'value that is searched for.';
const NOTES: Partial<Record<Attribute, string>> = {
  storage_url: ' A value holds no colon, so it leaves out the scheme: `eq:atrium/default/….pdf`.',
};

const filterOf = (attribute: Attribute) => {
  const { operators, fallback } = ATTRIBUTES[attribute];
  const dictionary = attribute === 'access' || attribute === 'slots';
  return Type.Optional(
    Type.Array(
      Parsed<Filter>((text, loc) => parseFilter(attribute, text, loc)),
      {
        description:
          `Filters by \`${attribute}\`: \`operator:value\`${dictionary ? ' or `operator:key->value`' : ''}; ` +
          `repeats hold together. Operators: ${operators.join(', ')}; without one it is ${fallback}. ${EMPTINESS}${NOTES[attribute] ?? ''}`,
      },
    ),
  );
};

const filters = Object.fromEntries(
  (Object.keys(ATTRIBUTES) as Attribute[]).map((attribute) => [attribute, filterOf(attribute)]),
) as Record<Attribute, ReturnType<typeof filterOf>>;

const whole = (description: string, limits: { minimum: number; maximum?: number; impliedDefault?: number }) =>
  Type.Optional(Type.Integer({ description, ...limits }));

export const SearchParameters = Type.Object(
  {
    ...filters,
    order_by: Type.Array(Parsed(parseOrder), {
      default: [DEFAULT_ORDER_TEXT],
      description: 'An attribute, optionally followed by a blank and ASC or DESC.',
    }),
    page: whole('The page to return; the first page is 1.', { minimum: 1, impliedDefault: 1 }),
    size: whole('How many documents a page holds.', {
      minimum: 1,
      maximum: PAGE_SIZE_MAX,
      impliedDefault: PAGE_SIZE_DEFAULT,
    }),
    limit: whole(
      `How many documents to return, where \`page\` and \`size\` are absent; ${WINDOW_LIMIT_DEFAULT} where only \`offset\` is given.`,
      { minimum: 1, maximum: PAGE_SIZE_MAX },
    ),
    offset: whole('How many documents to skip, where `page` and `size` are absent.', { minimum: 0 }),
    archived: oneOf(['false', 'true', 'any'], {
      default: 'false',
      description: '`false`: without archived documents; `true`: only them; `any`: both.',
    }),
    q: Type.Optional(
      Type.String({
        maxLength: QUERY_TEXT_LENGTH_MAX,
        description:
          'Words of name, tags, categories, slots and summary; ranks by relevance, forgives typing errors in words of ' +
          'four letters or more.',
      }),
    ),
  },
  // A misspelt filter must not find everything.
  { additionalProperties: false },
);
export type SearchParameters = Static<typeof SearchParameters>;

export const DocumentPage = component(
  'Page_DocumentMetadataRead_',
  'A page of found documents.',
  {
    items: Type.Array(DocumentMetadataRead, { description: 'The documents of this page.' }),
    total: Type.Integer({ minimum: 0, description: 'Documents in all, on this page or not.' }),
    page: nullable(Type.Integer({ minimum: 1 }), 'Which page this is; null with `limit` and `offset`.'),
    size: nullable(
      Type.Integer({ minimum: 1 }),
      'How many documents a page holds; null with `limit` and `offset`.',
    ),
    pages: nullable(
      Type.Integer({ minimum: 0 }),
      'How many pages there are; null with `limit` and `offset`.',
    ),
  },
  { title: 'Page[DocumentMetadataRead]' },
);
