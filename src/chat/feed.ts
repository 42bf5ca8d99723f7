// An answer on its way: text as it comes, and how it ended, for any number of listeners.

import { ServiceError } from '../core/errors.ts';
import type { AnsweredTurn, Failure } from './turn.ts';

export type FeedListener = { onText(text: string): void; onRetracted(reason: ServiceError): void };

export type Feed = {
  userMessageId: number;
  answerId: number;
  /**
   * Tells the text so far, then what follows it, and why what was told is no part of the answer, where that turns out.
   * The function that it returns ends that.
   */
  follow(listener: FeedListener): () => void;
  /** The answer when it is stored. Rejects with what kept it from being made. */
  outcome: Promise<AnsweredTurn>;
};

/** The end of a feed that its maker holds. */
export type OpenFeed = {
  feed: Feed;
  /** Tells the text once it may be told; `tell` looks again whether it may. */
  say(text: string): void;
  tell(): void;
  /** What was told is no part of the answer: another attempt's counts. */
  retract(reason: ServiceError): void;
  end(outcome: { answered: AnsweredTurn } | { error: unknown }): void;
};

type Ids = Pick<Feed, 'userMessageId' | 'answerId'>;

/** `mayTell`: whether the answer is surely the one that counts. */
export function openFeed({ userMessageId, answerId }: Ids, mayTell: () => boolean): OpenFeed {
  const listeners = new Set<FeedListener>();
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
    feed: {
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
