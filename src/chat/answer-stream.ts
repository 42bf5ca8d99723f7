// An answer on its way: text as it comes, and how it ended, for any number of listeners.

import { notFound, ServiceError } from '../core/errors.ts';
import type { TurnStore } from './store/turns.ts';
import type { AnsweredTurn, Failure } from './turn.ts';

export type AnswerListener = { onText(text: string): void; onRetracted(reason: ServiceError): void };

export type AnswerStream = {
  userMessageId: number;
  answerId: number;
  /**
   * Calls back with the text so far, then with each addition, and with the reason if the text turns out not to be part
   * of the answer. The returned function ends the calls.
   */
  follow(listener: AnswerListener): () => void;
  /** The stored answer. Rejects with the reason why it could not be made. */
  outcome: Promise<AnsweredTurn>;
};

/** The end of a answerStream that its maker holds. */
export type OpenStream = {
  answerStream: AnswerStream;
  /** Sends the text once this is permitted; `tell` checks again. */
  say(text: string): void;
  tell(): void;
  /** The text sent so far is not part of the answer, because another attempt's is. */
  retract(reason: ServiceError): void;
  end(outcome: { answered: AnsweredTurn } | { error: unknown }): void;
};

type Ids = Pick<AnswerStream, 'userMessageId' | 'answerId'>;

/** `mayTell`: whether this answer is certain to be the one that counts. */
export function openStream({ userMessageId, answerId }: Ids, mayTell: () => boolean): OpenStream {
  const listeners = new Set<AnswerListener>();
  const { promise, resolve, reject } = Promise.withResolvers<AnsweredTurn>();
  let said = '';
  let held = '';
  // The caller may have gone: then a rejection has no other handler.
  promise.catch(() => undefined);
  const tell = (): void => {
    if (held === '' || !mayTell()) return;
    const text = held;
    held = '';
    said += text;
    for (const { onText } of listeners) onText(text);
  };
  return {
    answerStream: {
      userMessageId,
      answerId,
      follow(listener) {
        if (said !== '') listener.onText(said);
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      outcome: promise,
    },
    say(text) {
      held += text;
      tell();
    },
    tell,
    retract(reason) {
      const told = said;
      said = '';
      held = '';
      if (told !== '') for (const { onRetracted } of listeners) onRetracted(reason);
    },
    end: (outcome) => ('answered' in outcome ? resolve(outcome.answered) : reject(outcome.error)),
  };
}

/** The answerStream of an answer that is made elsewhere, or was made before: it has no text until it has all of it. */
export function closedStream({ userMessageId, answerId }: Ids, outcome: Promise<AnsweredTurn>): AnswerStream {
  outcome.catch(() => undefined);
  return { userMessageId, answerId, follow: () => () => undefined, outcome };
}

export const toFailure = (error: unknown): Failure =>
  error instanceof ServiceError
    ? { sentence: error.message, kind: error.kind, retryAfterSeconds: error.retryAfterSeconds }
    : { sentence: 'Internal Server Error', kind: 'internal', retryAfterSeconds: undefined };

export const toError = ({ kind, sentence, retryAfterSeconds }: Failure): Error =>
  kind === 'internal'
    ? new Error('the answer failed before, unexpectedly')
    : new ServiceError(kind, sentence, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });

/** Answers that are waited for here, and made by another process. */
export type Followed = {
  /** Resolves when any process has stored the answer; rejects with the reason of its failure, or 404. */
  wait(answerId: number): Promise<AnsweredTurn>;
  /** Has those who wait for the answer look at it again. */
  look(answerId: number): void;
  ids(): number[];
  /** Ends all waiting with the refusal. */
  interrupt(): void;
};

type FollowedDeps = { store: Pick<TurnStore, 'answer'>; endingRefusal: () => Error };

export function createFollowed({ store, endingRefusal }: FollowedDeps): Followed {
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
