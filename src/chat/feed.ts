// An answer on its way: text as it comes, and how it ended, for any number of listeners.

import { ServiceError } from '../core/errors.ts';
import type { AnsweredTurn, Failure } from './turn.ts';

export type Feed = {
  userMessageId: number;
  answerId: number;
  /** Tells the text so far, then what follows it. The function that it returns ends that. */
  follow(onText: (text: string) => void): () => void;
  /** The answer when it is stored. Rejects with what kept it from being made. */
  outcome: Promise<AnsweredTurn>;
};

/** The end of a feed that its maker holds. */
export type OpenFeed = {
  feed: Feed;
  say(text: string): void;
  end(outcome: { answered: AnsweredTurn } | { error: unknown }): void;
};

type Ids = Pick<Feed, 'userMessageId' | 'answerId'>;

export function openFeed({ userMessageId, answerId }: Ids): OpenFeed {
  const listeners = new Set<(text: string) => void>();
  const { promise, resolve, reject } = Promise.withResolvers<AnsweredTurn>();
  let said = '';
  // The caller may have gone: then a rejection has no other handler.
  promise.catch(() => undefined);
  return {
    feed: {
      userMessageId,
      answerId,
      follow(onText) {
        if (said !== '') onText(said);
        listeners.add(onText);
        return () => listeners.delete(onText);
      },
      outcome: promise,
    },
    say(text) {
      said += text;
      for (const listener of listeners) listener(text);
    },
    end: (outcome) => ('answered' in outcome ? resolve(outcome.answered) : reject(outcome.error)),
  };
}

/** The feed of an answer that is made elsewhere, or was made before: it has no text until it has all of it. */
export function closedFeed({ userMessageId, answerId }: Ids, outcome: Promise<AnsweredTurn>): Feed {
  outcome.catch(() => undefined);
  return { userMessageId, answerId, follow: () => () => undefined, outcome };
}

/** Why there is no answer, as it is stored. */
export const toFailure = (error: unknown): Failure =>
  error instanceof ServiceError
    ? { sentence: error.message, kind: error.kind, retryAfterSeconds: error.retryAfterSeconds }
    : { sentence: 'Internal Server Error', kind: 'internal', retryAfterSeconds: undefined };

/** What a stored failure is thrown as. */
export const toError = ({ kind, sentence, retryAfterSeconds }: Failure): Error =>
  kind === 'internal'
    ? new Error('the answer failed before, unexpectedly')
    : new ServiceError(kind, sentence, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
