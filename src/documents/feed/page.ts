// One page of the export: lines of JSON, read as the client takes them. The last one says where the next page begins.

import { nextTimeSlice } from '../../core/time-slices.ts';
import { dequantise } from '../vectors/quantise.ts';
import { type FeedPosition, type Follower, renderFeedCursor } from './cursor.ts';
import {
  EMBEDDED_LINE_LENGTH,
  FEED_PASSAGES_A_STATEMENT,
  PAGE_LENGTH_MAX,
  PAGE_STATEMENTS_MAX,
  PIECE_LENGTH_MAX,
} from './limits.ts';
import type { FeedStep, FeedStore } from './store.ts';

export type FeedPageRequest = Follower & { position: FeedPosition; limit: number; secret: Buffer };

/** Yields lines, some at a time. Throws 410 where the position is of no use any more. */
export async function* readFeedPage(
  store: Pick<FeedStore, 'follow'>,
  { viewer, embeddings, position, limit, secret }: FeedPageRequest,
): AsyncGenerator<string, void> {
  let at = position;
  let [lines, length, end] = [0, 0, false];
  let model: string | null = null;
  const isFull = () => lines >= limit || length >= PAGE_LENGTH_MAX;
  for (let statement = 0; statement < PAGE_STATEMENTS_MAX && !end && !isFull(); statement++) {
    const ofLine = lines > 0 ? length / lines : embeddings ? EMBEDDED_LINE_LENGTH : 1;
    const fitting = Math.ceil((PAGE_LENGTH_MAX - length) / ofLine);
    const passages = Math.min(FEED_PASSAGES_A_STATEMENT, limit - lines, fitting);
    const found = await store.follow(viewer, at, { passages, embeddings });
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
      at = after;
      if (text.length < PIECE_LENGTH_MAX) continue;
      yield text;
      text = '';
      await nextTimeSlice();
    }
    if (text !== '') yield text;
  }
  const next_cursor = renderFeedCursor(secret, { viewer, embeddings }, at);
  yield `${JSON.stringify({ next_cursor, more: !end, ...(embeddings ? { embedding_model: model } : {}) })}\n`;
}

function renderLine(line: NonNullable<FeedStep['line']>): object {
  if ('deleted' in line) return { document_id: line.documentId, deleted: true };
  const { documentId, changedAt, vector, ...passage } = line;
  const embedding = vector === null ? undefined : dequantise(vector).map(rounded);
  return { document_id: documentId, ...passage, embedding, changed_at: changedAt.toISOString() };
}

/** Quantised components have no more digits. */
const rounded = (value: number): number => Math.round(value * 1e5) / 1e5;

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
