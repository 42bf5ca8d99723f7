import type { Static } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { conflict, valueError } from '../../core/errors.ts';
import type { Http } from '../../http/http.ts';
import { answer, answers, json, parameters, refusals } from '../../http/input.ts';
import { assertEditable, documentNotFound, parseDocumentId, toViewer, type Viewer } from '../policy.ts';
import { READ, WRITE } from '../routes/answers.ts';
import type { DocumentStore } from '../store.ts';
import { GIVEN_BODY_BYTES_MAX } from './limits.ts';
import type { TextFormat } from './protocol.ts';
import * as schema from './schema.ts';
import type { Content, ContentStates } from './states.ts';
import type { ContentStore } from './store.ts';

const ITEM = { params: parameters(schema.ByFileId) } as const;
const contentAnswer = (description: string) => ({
  200: { description, schema: schema.ContentRead, example: schema.CONTENT_EXAMPLE },
});

const MEDIA_TYPES: Record<TextFormat, string> = {
  text: 'text/plain; charset=utf-8',
  markdown: 'text/markdown; charset=utf-8',
};

export type ContentRoutesDeps = {
  store: Pick<ContentStore, 'textPart' | 'give' | 'switchOff'>;
  states: Pick<ContentStates, 'find'>;
  documents: Pick<DocumentStore, 'find'>;
  /** Whether files are read at all. */
  reads: boolean;
  /** A document is to be read. */
  wake(): void;
};

/** What the file of a document says: its state, its text, and who decides about it. */
export function contentRoutes({ plugin }: Http, deps: ContentRoutesDeps) {
  const { store } = deps;
  const render = (content: Content) => renderContent(content, deps.reads);
  const find = async (viewer: Viewer, id: string): Promise<Content> => {
    const content = await deps.states.find(viewer, id);
    if (content === undefined) throw documentNotFound();
    return content;
  };
  /** Throws 404 unseen, 403 not the viewer's to edit, 409 binned. */
  const assertMayEdit = async (viewer: Viewer, id: string): Promise<void> => {
    const document = await deps.documents.find(viewer, id, 'editable');
    assertEditable(viewer, document?.id === id ? document : undefined);
  };
  return new Elysia({ name: 'documents.content', tags: ['documents'] })
    .use(plugin)
    .get(
      '/v1/:workspace_id/file/:file_id/content',
      async ({ principal, params, query }) => {
        const id = parseDocumentId(params.file_id);
        const content = await find(toViewer(principal), id);
        if (query.format === undefined) return render(content);
        if (!hasText(content, deps.reads) || content.revision === null) return textAnswer(query.format, '');
        return textAnswer(
          query.format,
          streamText(store, { id, revision: content.revision, format: query.format }),
        );
      },
      {
        ...READ,
        ...ITEM,
        query: parameters(schema.ContentQuery),
        response: {
          200: answer({
            ...contentAnswer('The state; with `format` the text.')[200],
            mediaType: ['text/plain', 'text/markdown'],
          }),
          ...refusals(404, 409),
        },
        detail: {
          operationId: 'documents.content',
          summary: "Read the state of a document's text, or the text",
          description:
            'A caller who may read the metadata of a document may read its text. With `format` the answer is the text, as ' +
            '`text/plain` or `text/markdown`; 409 where there is none.',
        },
      },
    )
    .put(
      '/v1/:workspace_id/file/:file_id/content',
      async ({ principal, author, params, body }) => {
        const viewer = toViewer(principal);
        const id = parseDocumentId(params.file_id);
        const { text, reading } = parseWrite(body);
        if (!deps.reads && reading !== 'off') throw conflict('Contents are not read here (CONTENT=off)');
        await assertMayEdit(viewer, id);
        const given = text === undefined ? undefined : { ...text, language: body.language ?? null };
        const done =
          reading === 'off'
            ? await store.switchOff(viewer, id, author)
            : await store.give(viewer, id, given, author);
        if (!done) {
          await assertMayEdit(viewer, id);
          throw conflict('The document keeps changing; try again');
        }
        deps.wake();
        return render(await find(viewer, id));
      },
      {
        ...WRITE,
        ...ITEM,
        keepsAddress: true,
        body: json(schema.ContentWrite, {
          bytesMax: GIVEN_BODY_BYTES_MAX,
          example: schema.CONTENT_WRITE_EXAMPLE,
        }),
        response: { ...answers(contentAnswer('The state.')), ...refusals(404, 409) },
        detail: {
          operationId: 'documents.put-content',
          summary: 'Give the text of a document, or decide whether its file is read',
          description:
            'Owner, curators and administrators may. A given text replaces that of the file, as one that was recognised in a ' +
            'scan; its passages follow shortly afterwards, when the state is `ready` again. `reading` reads the file anew, or ' +
            'deletes what is kept of its text.',
        },
      },
    );
}

/** Exactly one of a text and a decision. Throws ValidationFailure. */
function parseWrite({ text, format, reading }: schema.ContentWrite) {
  const decides = reading !== undefined && reading !== null;
  if (typeof text === 'string') {
    if (decides)
      throw valueError(['body', 'reading'], 'a text is given, so there is nothing to decide', reading);
    return { text: { text, format: format ?? ('text' as const) }, reading: undefined };
  }
  if (!decides) throw valueError(['body'], 'neither a text nor `reading` is given', {});
  return { text: undefined, reading };
}

const textAnswer = (format: TextFormat, body: string | ReadableStream): Response =>
  new Response(body, {
    headers: { 'content-type': MEDIA_TYPES[format], 'x-content-type-options': 'nosniff' },
  });

/** A text, a part at a time as the client takes it; it breaks off with an error where it is replaced meanwhile. */
function streamText(
  store: Pick<ContentStore, 'textPart'>,
  { id, revision, format }: { id: string; revision: number; format: TextFormat },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let part = 0;
  // What is written in plain text has no Markdown of its own.
  let formats: readonly TextFormat[] = format === 'markdown' ? ['markdown', 'text'] : ['text'];
  return new ReadableStream({
    async pull(controller) {
      const found = await store.textPart({ id, revision, formats, part });
      if (found === undefined) throw new Error('the text was replaced while it was sent');
      if (found.text === null) return controller.close();
      formats = [found.format];
      part += 1;
      controller.enqueue(encoder.encode(found.text));
    },
  });
}

/** The state of a document's text, as answers have it; `reads`: whether files are read at all. */
export function renderContent(
  content: Omit<Content, 'revision'>,
  reads: boolean,
): Static<typeof schema.ContentRead> {
  const { state, reason, language, pages, characters, passages, given } = content;
  const known = {
    language,
    pages,
    characters: characters ?? 0,
    passages: passages ?? 0,
    given: given ?? false,
  };
  const unread = (why: string) => ({ status: 'unsupported', reason: why, reading: 'off', ...known }) as const;
  if (state === 'off') return unread('the text of this document is not kept');
  if (state !== null && state !== 'pending') return { status: state, reason, reading: 'on', ...known };
  if (!reads) return unread('contents are not read here (CONTENT=off)');
  if (state === null && !content.readsFiles) return unread('files of this workspace are not read');
  return { status: 'pending', reason, reading: 'on', ...known };
}

/** False where the text is empty. Throws 409 where there is none. */
export function hasText(content: Omit<Content, 'revision'>, reads: boolean): boolean {
  const { status, reason } = renderContent(content, reads);
  if (status !== 'ready' && status !== 'empty')
    throw conflict(`The document has no text: it is ${status}${reason === null ? '' : ` (${reason})`}`);
  return status === 'ready';
}
