import { type Static, Type } from '@sinclair/typebox';
import { moment, nullable, oneOf, text } from '../../http/schemas.ts';
import {
  DOCUMENTS_DEFAULT,
  DOCUMENTS_MAX,
  LABELS_MAX,
  QUERY_LENGTH_MAX,
  SLOTS_LENGTH_MAX,
  SUMMARY_LENGTH_MAX,
} from '../limits.ts';
import { tool } from '../tool.ts';
import { Filters, parseFilters } from './filters.ts';

const Labels = Type.Union([Type.Array(Type.String()), Type.Null()]);
const Found = Type.Object({
  id: text('For read_document and document_link.'),
  name: text('File name.'),
  status: text('public or private.'),
  created_at: moment('When it was uploaded.'),
  file_type: nullable(Type.String(), 'File extension.'),
  file_size: nullable(Type.Integer(), 'Bytes.'),
  summary: nullable(Type.String(), 'Summary, cut where it is long.'),
  tags: Labels,
  categories: Labels,
  slots: nullable(Type.Record(Type.String(), Type.Unknown()), 'Free-form metadata; null where it is long.'),
});
type Found = Static<typeof Found>;

/** A page of the search, as far as it is used here. */
type Page = { items: Found[]; total: number };

export const searchDocuments = tool({
  name: 'search_documents',
  title: 'Search documents',
  description:
    'Finds documents by their metadata (name, summary, tags, categories, slots), with exact filters, and lists them. It does not look ' +
    'into what the files say. Without arguments it lists the newest documents.',
  scope: 'documents:read',
  readOnly: true,
  input: Type.Object({
    query: Type.Optional(
      Type.String({
        maxLength: QUERY_LENGTH_MAX,
        description: 'Words that the metadata has, all of them; forgives typing errors. Ranks by relevance.',
      }),
    ),
    filters: Filters,
    order_by: Type.Optional(
      Type.Array(Type.String({ maxLength: 100 }), {
        maxItems: 5,
        description: 'An attribute and ASC or DESC, such as "name ASC". By default the newest come first.',
      }),
    ),
    archived: Type.Optional(
      oneOf(['false', 'true', 'any'], {
        description: 'Without archived documents (default), only them, or both.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: DOCUMENTS_MAX,
        description: `How many, ${DOCUMENTS_DEFAULT} by default.`,
      }),
    ),
    offset: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'How many to leave out before.' }),
    ),
  }),
  output: Type.Object({
    documents: Type.Array(Found),
    total: Type.Integer({ description: 'How many there are in all.' }),
    next_offset: nullable(Type.Integer(), 'The offset of the following ones; null after the last.'),
  }),
  async run(
    operations,
    caller,
    { query, filters, order_by, archived, limit = DOCUMENTS_DEFAULT, offset = 0 },
  ) {
    const page = (await operations.search(caller, {
      query: { q: query, ...parseFilters(filters), order_by, archived, limit, offset },
    })) as Page;
    const next = offset + page.items.length;
    const structured = {
      documents: page.items.map(toFound),
      total: page.total,
      next_offset: page.items.length > 0 && next < page.total ? next : null,
    };
    return { structured, text: JSON.stringify(structured) };
  },
});

/** What of a record a model can use, at a bounded length: metadata may be a megabyte. */
const toFound = ({
  id,
  name,
  status,
  created_at,
  file_type,
  file_size,
  summary,
  tags,
  categories,
  slots,
}: Found): Found => ({
  id,
  name,
  status,
  created_at,
  file_type,
  file_size,
  summary: summary === null ? null : summary.slice(0, SUMMARY_LENGTH_MAX).toWellFormed(),
  tags: tags?.slice(0, LABELS_MAX) ?? null,
  categories: categories?.slice(0, LABELS_MAX) ?? null,
  slots: slots !== null && JSON.stringify(slots).length <= SLOTS_LENGTH_MAX ? slots : null,
});
