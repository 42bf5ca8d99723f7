// One page of the export: lines of JSON, read as the client takes them. The last one says where the next page begins.

import { type FeedPosition, type Follower, renderFeedCursor } from './cursor.ts';
import { FEED_PASSAGES_A_STATEMENT, PAGE_BYTES_MAX, PAGE_STATEMENTS_MAX } from './limits.ts';
import type { FeedStep, FeedStore } from './store.ts';

export type FeedPageRequest = Follower & { position: FeedPosition; limit: number; secret: Buffer };

/** Yields lines, some at a time. Throws 410 where the position is of no use any more. */
export async function* readFeedPage(
  store: Pick<FeedStore, 'follow'>,
  { viewer, embeddings, position, limit, secret }: FeedPageRequest,
): AsyncGenerator<string, void> {
  let at = position;
  let [lines, bytes, end] = [0, 0, false];
  let model: string | null = null;
  const isFull = () => lines >= limit || bytes >= PAGE_BYTES_MAX;
  for (let statement = 0; statement < PAGE_STATEMENTS_MAX && !end && !isFull(); statement++) {
    const passages = Math.min(FEED_PASSAGES_A_STATEMENT, limit - lines);
    const found = await store.follow(viewer, at, { passages, embeddings });
    let text = '';
    ({ end, model } = found);
    for (const { line, after } of found.steps) {
      if (line !== undefined) {
        if (lines >= limit) {
          end = false;
          break;
        }
        lines += 1;
        text += `${JSON.stringify(renderLine(line))}\n`;
      }
      at = after;
    }
    bytes += text.length;
    if (text !== '') yield text;
  }
  const next_cursor = renderFeedCursor(secret, { viewer, embeddings }, at);
  yield `${JSON.stringify({ next_cursor, more: !end, ...(embeddings ? { embedding_model: model } : {}) })}\n`;
}

function renderLine(line: NonNullable<FeedStep['line']>): object {
  if ('deleted' in line) return { document_id: line.documentId, deleted: true };
  const { documentId, changedAt, embedding, ...passage } = line;
  return { document_id: documentId, ...passage, embedding, changed_at: changedAt.toISOString() };
}

/** The texts as a stream that asks for the next one when the client has taken those before. The first one is read at once. */
export async function toStream(texts: AsyncGenerator<string, void>): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  let next: IteratorResult<string, void> | undefined = await texts.next();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = next ?? (await texts.next());
      next = undefined;
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await texts.return();
    },
  });
}
