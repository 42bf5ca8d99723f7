// What is known of the text of a document, and what a person may do about it.

import { answerOf, api, type Schemas } from './api.ts';
import { workspace } from './state.ts';

export type Content = Schemas['DocumentContent'];
export type ContentRow = Schemas['DocumentContentRow'];
export type Passage = Schemas['Passage'];
export type Status = Content['status'];

export const STATUSES: readonly Status[] = ['failed', 'empty', 'unsupported', 'pending', 'ready'];

/** Code points of a text that are shown at once. */
export const SHOWN_CHARACTERS = 40_000;
const PASSAGES_A_PAGE = 20;
const PAGE_SIZE = 50;

const pathOf = (id: string) => ({ workspace_id: workspace.value, file_id: id });

/** Without a format the answer is the state, and no text. */
export const readContent = async (id: string): Promise<Content> =>
  (await answerOf(
    api.GET('/admin/call/v1/{workspace_id}/file/{file_id}/content', { params: { path: pathOf(id) } }),
  )) as Content;

/** A text, or whether the file is read. */
export const writeContent = (id: string, body: Partial<Schemas['DocumentContentWrite']>): Promise<Content> =>
  answerOf(
    api.PUT('/admin/call/v1/{workspace_id}/file/{file_id}/content', {
      params: { path: pathOf(id) },
      body: { format: 'text', ...body },
    }),
  );

/** The states of the documents of one page of a list, by their ids. */
export async function readStates(ids: readonly string[]): Promise<ReadonlyMap<string, ContentRow>> {
  if (ids.length === 0) return new Map();
  const { items } = await answerOf(
    api.GET('/admin/call/v1/{workspace_id}/contents', {
      params: { path: { workspace_id: workspace.value }, query: { document_id: [...ids] } },
    }),
  );
  return new Map(items.map((row) => [row.document_id, row]));
}

export const readByStatus = (status: Status, cursor: string): Promise<Schemas['DocumentContentPage']> =>
  answerOf(
    api.GET('/admin/call/v1/{workspace_id}/contents', {
      params: { path: { workspace_id: workspace.value }, query: { status, cursor, limit: PAGE_SIZE } },
    }),
  );

export const readPassages = (id: string, cursor: string): Promise<Schemas['PassagePage']> =>
  answerOf(
    api.GET('/admin/call/v1/{workspace_id}/file/{file_id}/passages', {
      params: { path: pathOf(id), query: { cursor, limit: PASSAGES_A_PAGE } },
    }),
  );

/** Code points of a text that are looked through for a quote. */
const SEARCHED_CHARACTERS = 100_000;

/** Where a quote stands in a page of the text (`''`: in the text), in code points; the whole page where it is not found. */
export async function findQuote(id: string, page: string, quote: string) {
  const { start, end, text } = await answerOf(
    api.GET('/admin/call/v1/{workspace_id}/file/{file_id}/content/excerpt', {
      params: {
        path: pathOf(id),
        query: { length: SEARCHED_CHARACTERS, ...(page === '' ? {} : { page: Number(page) }) },
      },
    }),
  );
  const at = text.indexOf(quote);
  if (quote === '' || at === -1) return page === '' ? { start: 0, end: 0 } : { start, end };
  const first = start + [...text.slice(0, at)].length;
  return { start: first, end: first + [...quote].length };
}

export type TextWindow = {
  /** Code points of the text from `from` on. */
  characters: readonly string[];
  from: number;
  /** Whether more follows. */
  more: boolean;
};

/** A part of the text. The text is streamed from its beginning, and left where the part ends. */
export async function readText(id: string, from: number): Promise<TextWindow> {
  const stream = await answerOf(
    api.GET('/admin/call/v1/{workspace_id}/file/{file_id}/content', {
      params: { path: pathOf(id), query: { format: 'text' } },
      parseAs: 'stream',
    }),
  );
  const characters: string[] = [];
  let passed = 0;
  const reader = (stream as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  while (characters.length <= SHOWN_CHARACTERS) {
    const { done, value } = await reader.read();
    if (done) return { characters, from, more: false };
    for (const character of value) {
      if (passed >= from && characters.length <= SHOWN_CHARACTERS) characters.push(character);
      passed++;
    }
  }
  await reader.cancel();
  return { characters: characters.slice(0, SHOWN_CHARACTERS), from, more: true };
}
