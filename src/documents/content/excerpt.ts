// A part of a document's plain text: from an offset, or a page.

import { type Static, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { valueError } from '../../core/errors.ts';
import type { Http } from '../../http/http.ts';
import { answer, parameters, refusals } from '../../http/input.ts';
import { countCharacters } from '../../http/mistakes.ts';
import { component, described, integer, nullable, text } from '../../http/schemas.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { documentNotFound, parseDocumentId, toViewer, type Viewer } from '../policy.ts';
import { READ } from '../routes/answers.ts';
import { createConditions } from '../rows.ts';
import { EXCERPT_LENGTH_DEFAULT, EXCERPT_LENGTH_MAX, TEXT_PART_LENGTH } from './limits.ts';
import { ByFileId } from './schema.ts';
import type { Content } from './states.ts';
import { readsFilesOf } from './store.ts';

const Count = Type.Integer({ minimum: 0 });

const ExcerptQuery = Type.Object({
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      description:
        'Characters (code points) of the plain text before the part, 0 by default; not together with `page`.',
    }),
  ),
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000,
      description: 'The page, slide or sheet to read, from 1.',
    }),
  ),
  length: Type.Integer({
    minimum: 1,
    maximum: EXCERPT_LENGTH_MAX,
    default: EXCERPT_LENGTH_DEFAULT,
    description: 'The most characters to read.',
  }),
});
type ExcerptQuery = Static<typeof ExcerptQuery>;

const Excerpt = component('DocumentExcerpt', "A part of a document's plain text.", {
  document_id: text('The document.'),
  name: text('Its name.'),
  language: nullable(Type.String(), 'The language of the text (ISO 639), where it was recognised.'),
  pages: nullable(Count, 'Pages, slides or sheets, of formats that have them.'),
  characters: described(Count, 'Characters (code points) of the whole text.'),
  start: integer('Where the part begins in the text.'),
  end: integer('Where it ends; the end is excluded.'),
  next_offset: nullable(
    Count,
    'The offset at which the text goes on; null at the end of the text, or of the page.',
  ),
  text: Type.String({ description: 'The part.' }),
});

const EXAMPLE = {
  document_id: '0f6b1c9e-5b0a-4e6e-9f0a-6c1f2f7a9b10',
  name: 'manual.pdf',
  language: 'en',
  pages: 20,
  characters: 41_283,
  start: 0,
  end: 30,
  next_offset: 30,
  text: 'The pump must be switched off.',
};

type Found = Omit<Content, 'revision'> & {
  name: string;
  first: number | null;
  until: number | null;
  text: string | null;
};

/** Where a part lies: characters of the text, or of a page of it. */
type Range = { offset: number } | { page: number };

/** Fewer characters (code points) than a part of a text has, but for the last one. */
const PART_CHARACTERS_MIN = TEXT_PART_LENGTH / 2 - 1;

/**
 * Reads at most `length` characters from where the range begins; the end of a page ends them, too. `first` and `until` are
 * where the range begins and ends, null for a page without text. Undefined where the viewer sees no such document.
 */
function createReadExcerpt(sql: Sql) {
  const { visible } = createConditions(sql);
  return async (viewer: Viewer, id: string, range: Range, length: number): Promise<Found | undefined> => {
    const asked =
      'page' in range
        ? sql`SELECT min(starts_at) AS first, max(ends_at) AS until FROM document_passages
            WHERE document_id = ${id} AND page = ${range.page}`
        : sql`SELECT ${range.offset}::integer AS first, NULL::integer AS until`;
    const [row] = await sql<Found[]>`
      WITH seen AS (SELECT id, workspace_id, name FROM documents
          WHERE id = ${id} AND workspace_id = ${viewer.workspaceId} AND ${visible(viewer)}),
      asked AS (${asked}),
      cut AS (SELECT first, least(first + ${length}::integer, until) AS last FROM asked),
      parts AS (
        SELECT p.part, p.text, sum(length(p.text)) OVER (ORDER BY p.part) - length(p.text) AS before, c.first, c.last
        FROM cut c JOIN document_content_parts p ON p.document_id IN (SELECT id FROM seen)
          AND p.format = 'text' AND p.part <= c.last / ${PART_CHARACTERS_MIN}::integer)
      SELECT d.name, c.state, c.reason, c.language, c.pages, c.characters, c.passages,
        c.given_text IS NOT NULL AS given, ${readsFilesOf(sql)},
        a.first, a.until,
        (SELECT string_agg(substr(text, greatest(first - before, 0)::integer + 1,
            (last - greatest(first, before))::integer), '' ORDER BY part)
          FROM parts WHERE before < last AND before + length(text) > first) AS text
      FROM seen d LEFT JOIN document_contents c ON c.document_id = d.id CROSS JOIN asked a`;
    return row;
  };
}

/** `readable` is whether there is a text; it throws 409 where it is not read. */
export function excerptRoute(
  { plugin }: Http,
  sql: Sql,
  readable: (content: Omit<Content, 'revision'>) => boolean,
) {
  const read = createReadExcerpt(sql);
  return new Elysia({ name: 'documents.content.excerpt', tags: ['documents'] }).use(plugin).get(
    '/v1/:workspace_id/file/:file_id/content/excerpt',
    async ({ principal, params, query }) => {
      const id = parseDocumentId(params.file_id);
      const found = await read(toViewer(principal), id, toRange(query), query.length);
      if (found === undefined) throw documentNotFound();
      return renderExcerpt(id, readable(found) ? found : { ...found, text: '' });
    },
    {
      ...READ,
      params: parameters(ByFileId),
      query: parameters(ExcerptQuery),
      response: {
        200: answer({ description: 'The part.', schema: Excerpt, example: EXAMPLE }),
        ...refusals(404, 409),
      },
      detail: {
        operationId: 'documents.excerpt',
        summary: "Read a part of a document's text",
        description:
          'A part of the plain text, as JSON: from an offset (as the offsets of passages are), or a page. 409 where the document has ' +
          'no text.',
      },
    },
  );
}

function toRange({ offset, page }: ExcerptQuery): Range {
  if (page === undefined) return { offset: offset ?? 0 };
  if (offset === undefined) return { page };
  throw valueError(['query', 'offset'], 'a page is asked for, so there is no offset', offset);
}

function renderExcerpt(id: string, found: Found) {
  const { name, language, pages } = found;
  const characters = found.characters ?? 0;
  const part = found.text ?? '';
  const start = Math.min(found.first ?? 0, characters);
  const end = start + countCharacters(part);
  const goesOn = part !== '' && end < Math.min(found.until ?? characters, characters);
  return {
    document_id: id,
    name,
    language,
    pages,
    characters,
    start,
    end,
    next_offset: goesOn ? end : null,
    text: part,
  };
}
