// The export of passages, which a vector store elsewhere follows.

import { type Static, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Routes } from '../../http/area.ts';
import { answer, parameters, refusals } from '../../http/input.ts';
import { oneOf, text } from '../../http/schemas.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { toViewer } from '../policy.ts';
import { READ } from '../routes/answers.ts';
import { InWorkspace } from '../schema.ts';
import { FEED_START, parseFeedCursor } from './cursor.ts';
import { PAGE_LINES_MAX, TOMBSTONE_DAYS } from './limits.ts';
import { readFeedPage, toStream } from './page.ts';
import { createFeedStore } from './store.ts';

const FeedQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PAGE_LINES_MAX,
      default: PAGE_LINES_MAX,
      description: 'Lines of the page, beside its last one; long ones make it shorter.',
    }),
  ),
  include: Type.Optional(
    oneOf(['embeddings'], { description: 'Passages with their embeddings by the model of the workspace.' }),
  ),
  cursor: Type.Optional(text('The `next_cursor` of the page before; blank: from the beginning.')),
});

const DESCRIPTION =
  'JSON lines in the order of change: `{document_id, passage, page, heading, text, start, end, changed_at}`, of the documents ' +
  'that the caller may see and that are neither in the bin nor in the archive, and `{document_id, deleted: true}`, after which ' +
  'nothing is left of a document; what follows it, if anything, replaces it. The last line is `{next_cursor, more}`: the ' +
  'cursor of the next page, also where there is none yet, and whether there is. An answer without it was broken off: the page is ' +
  'asked for again. With `include=embeddings` passages have `embedding`, a list of numbers, and the last line `embedding_model`; what is ' +
  'not embedded yet comes without, and again a little later. A copy that has applied the lines of all pages, up to one with `more: false`, has ' +
  'exactly the passages of these documents. A cursor does not expire by itself. 410: a document was purged after the cursor was given, and ' +
  `more than ${TOMBSTONE_DAYS} days ago, so that its line \`deleted\` is not kept any more; or the rights of the caller or the embedding model have changed, or a backup was ` +
  'restored; the copy is emptied, and begun without a cursor.';

/** `forget` deletes what no follower needs any more. */
export function createFeed(sql: Sql): {
  routes: Routes;
  forget(now: Date, signal: AbortSignal): Promise<void>;
} {
  const store = createFeedStore(sql);
  let secret: Buffer | undefined;
  const open = async (viewer: ReturnType<typeof toViewer>, query: Static<typeof FeedQuery>) => {
    secret ??= await store.cursorSecret();
    const { cursor = '', limit = PAGE_LINES_MAX, include } = query;
    const follower = { viewer, embeddings: include === 'embeddings' };
    const position = cursor === '' ? FEED_START : parseFeedCursor(secret, follower, cursor);
    return toStream(readFeedPage(store, { ...follower, position, limit, secret }));
  };
  return {
    routes: ({ plugin }) =>
      new Elysia({ name: 'documents.feed', tags: ['documents'] }).use(plugin).get(
        '/v1/:workspace_id/passages',
        async ({ principal, query }) =>
          new Response(await open(toViewer(principal), query), {
            headers: {
              'content-type': 'application/jsonl; charset=utf-8',
              'x-content-type-options': 'nosniff',
            },
          }),
        {
          ...READ,
          work: 'heavy',
          params: parameters(InWorkspace),
          query: parameters(FeedQuery),
          response: {
            200: answer({ description: 'A page, as JSON lines.', mediaType: 'application/jsonl' }),
            ...refusals(410),
          },
          detail: {
            operationId: 'documents.export-passages',
            summary: 'Follow the passages of all documents, in order of change',
            description: DESCRIPTION,
          },
        },
      ),
    async forget(now, signal) {
      const before = new Date(now.getTime() - TOMBSTONE_DAYS * 86_400_000);
      while (!signal.aborted && (await store.forgetPurgedBefore(before)));
    },
  };
}
