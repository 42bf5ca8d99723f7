// Answers that are waited for here, and that another process makes.

import { notFound } from '../core/errors.ts';
import { toError } from './answer-stream.ts';
import type { TurnStore } from './store/turns.ts';
import type { AnsweredTurn } from './turn.ts';

export type Followed = {
  /** Resolves when any process has stored the answer; rejects with the reason of its failure, or 404. */
  wait(answerId: number): Promise<AnsweredTurn>;
  /** Has those who wait for the answer look at it again. */
  look(answerId: number): void;
  ids(): number[];
  /** Ends all waiting with the refusal. */
  interrupt(): void;
};

export function createFollowed({
  store,
  endingRefusal,
}: {
  store: Pick<TurnStore, 'answer'>;
  endingRefusal: () => Error;
}): Followed {
  const waiting = new Map<number, PromiseWithResolvers<void>>();
  let isInterrupted = false;

  const look = (answerId: number): void => {
    waiting.get(answerId)?.resolve();
    waiting.delete(answerId);
  };
  return {
    async wait(answerId) {
      for (;;) {
        if (isInterrupted) throw endingRefusal();
        const over = waiting.get(answerId) ?? Promise.withResolvers<void>();
        waiting.set(answerId, over);
        const current = await store.answer(answerId);
        if (current?.state !== 'pending') {
          waiting.delete(answerId);
          over.resolve();
        }
        if (current === undefined) throw notFound('The chat session was deleted');
        if (current.state === 'done') return current.answered;
        if (current.state === 'failed') throw toError(current.failure);
        await over.promise;
      }
    },
    look,
    ids: () => [...waiting.keys()],
    interrupt() {
      isInterrupted = true;
      for (const over of waiting.values()) over.resolve();
    },
  };
}
