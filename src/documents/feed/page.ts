// One page of the export: lines of JSON, read as the client takes them. The last one says where the next page begins.

import { nextTimeSlice } from '../../core/time-slices.ts';
import { dequantise } from '../vectors/quantise.ts';
import { type FeedPosition, type Follower, renderFeedCursor } from './cursor.ts';
import {
  FEED_EMBEDDED_A_STATEMENT,
  FEED_PASSAGES_A_STATEMENT,
  PAGE_LENGTH_MAX,
  PAGE_STATEMENTS_MAX,
  PIECE_LENGTH_MAX,
} from './limits.ts';
import type { FeedStep, FeedStore } from './store.ts';

/** Yields lines, some at a time. Throws 410 where the position is of no use any more. */
export async function* readFeedPage(
  store: Pick<FeedStore, 'follow'>,
  request: Follower & { position: FeedPosition; limit: number; secret: Buffer },
): AsyncGenerator<string, void> {
  const { viewer, embeddings, limit, secret } = request;
  let { position } = request;
  let [lines, length, end] = [0, 0, false];
  let model: string | null = null;
  const isFull = () => lines >= limit || length >= PAGE_LENGTH_MAX;
  const most = embeddings ? FEED_EMBEDDED_A_STATEMENT : FEED_PASSAGES_A_STATEMENT;
  for (let statement = 0; statement < PAGE_STATEMENTS_MAX && !end && !isFull(); statement++) {
    const passages = Math.min(most, limit - lines);
    const found = await store.follow(viewer, position, { passages, embeddings });
    let text = '';
    ({ end, model } = found);
    for (const { line, after } of found.steps) {
      if (line !== undefined) {
        if (isFull()) {
          end = false;
          break;
        }
        const rendered = `${JSON.stringify(renderLine(line))}\n`;
        lines += 1;
        length += rendered.length;
        text += rendered;
      }
      position = after;
      if (text.length < PIECE_LENGTH_MAX) continue;
      yield text;
      text = '';
      await nextTimeSlice();
    }
    if (text !== '') yield text;
  }
  const next_cursor = renderFeedCursor(secret, { viewer, embeddings }, position);
  yield `${JSON.stringify({ next_cursor, more: !end, ...(embeddings ? { embedding_model: model } : {}) })}\n`;
}

function renderLine(line: NonNullable<FeedStep['line']>): object {
  if ('deleted' in line) return { document_id: line.documentId, deleted: true };
  const { documentId, changedAt, vector, ...passage } = line;
  // Quantised components have no more digits.
  const embedding =
    vector === null ? undefined : dequantise(vector).map((value) => Math.round(value * 1e5) / 1e5);
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
