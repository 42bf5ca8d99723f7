// Answers that are not complete yet. A process makes its own answers, one at a time in each session: here are the text that their
// listeners get, and whether the process still owns them. For answers of other processes it waits.

import { conflict, notFound, ServiceError } from '../core/errors.ts';
import type { TraceContext } from '../core/trace-context.ts';
import { currentTrace } from '../core/tracing.ts';
import { ALIVE_MS } from './limits.ts';
import type { TurnStore } from './store/turns.ts';
import type { AnsweredTurn, Failure, Turn } from './turn.ts';

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

/** An answer of this process: it is made here, or waits for its turn here. */
export type OwnAnswer = {
  turn: Turn;
  answerStream: AnswerStream;
  running: Promise<void> | undefined;
  isDeleted: boolean;
  isFirst: boolean;
  /** When it was this process's for certain, by performance.now. */
  ownedAt: number;
  /** Another process has taken it over. */
  isLost: boolean;
  /** Its end may be in the database already, which alone knows from now on whether it counts. */
  isStoring: boolean;
  ending: AbortController;
  /** Aborts when somebody stops the answer: then the text so far is the answer. */
  stopping: AbortController;
  /** Of the request that entered it. */
  trace: TraceContext | undefined;
  /** Whether it is still this process's, and so certain to be the one that counts. */
  isSure(): boolean;
  /** Sends the text once the answer is sure to count; `flush` checks that again. */
  say(text: string): void;
  flush(): void;
  /** The text sent so far is not part of the answer, because another attempt's is. */
  retract(reason: ServiceError): void;
  end(outcome: { answered: AnsweredTurn } | { error: unknown }): void;
};

/** `takenAt` (performance.now) is before the turn was taken. */
export function openAnswer(
  turn: Turn,
  { takenAt, lease }: { takenAt: number; lease: Pick<Lease, 'covers'> },
): OwnAnswer {
  const listeners = new Set<AnswerListener>();
  const { promise, resolve, reject } = Promise.withResolvers<AnsweredTurn>();
  let said = '';
  let held = '';
  // The caller may have gone: then a rejection has no other handler.
  promise.catch(() => undefined);
  const own: OwnAnswer = {
    turn,
    answerStream: {
      userMessageId: turn.userMessageId,
      answerId: turn.answerId,
      follow(listener) {
        if (said !== '') listener.onText(said);
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      outcome: promise,
    },
    running: undefined,
    // An answer that is taken over may have been deleted before: an empty question is not sent to the model.
    isDeleted: turn.message === '',
    isFirst: false,
    ownedAt: takenAt,
    isLost: false,
    isStoring: false,
    ending: new AbortController(),
    stopping: new AbortController(),
    trace: currentTrace(),
    isSure: () => !own.isLost && lease.covers(own.ownedAt),
    say(text) {
      held += text;
      own.flush();
    },
    flush() {
      if (held === '' || !own.isSure()) return;
      const text = held;
      held = '';
      said += text;
      for (const { onText } of listeners) onText(text);
    },
    retract(reason) {
      const told = said;
      said = '';
      held = '';
      if (told !== '') for (const { onRetracted } of listeners) onRetracted(reason);
    },
    end: (outcome) => ('answered' in outcome ? resolve(outcome.answered) : reject(outcome.error)),
  };
  // One that is taken over may have been stopped before.
  if (turn.caller.stopped === true) own.stopping.abort(stoppedRefusal());
  return own;
}

/** Why there is no answer to a question whose answer was stopped before its first word. */
export const stoppedRefusal = () => conflict('The answer was stopped');

/** The process's own view of its lease: until it expires, no other process takes over its answers. */
export type Lease = {
  /** Gives a sign of life; from then on it counts as living, for a while. */
  renew(giveSign: () => Promise<void>): Promise<void>;
  /** Whether it counted as living without a break from then (performance.now) until now. */
  covers(since: number): boolean;
};

/** Goes by a clock that also counts while the process stands still. */
export function createLease(now: () => number = () => performance.now()): Lease {
  let heldSince = Number.POSITIVE_INFINITY;
  let heldUntil = Number.NEGATIVE_INFINITY;
  return {
    async renew(giveSign) {
      const sentAt = now();
      await giveSign();
      // A renewal that arrives before the previous lease expires leaves no gap.
      if (now() >= heldUntil) heldSince = sentAt;
      // The database counts from a moment after this.
      heldUntil = sentAt + ALIVE_MS;
    },
    covers: (since) => since >= heldSince && now() < heldUntil,
  };
}

/** The stream of an answer that is made elsewhere, or was made before: the text comes whole, with its outcome. */
export function closedStream(
  { userMessageId, answerId }: Pick<AnswerStream, 'userMessageId' | 'answerId'>,
  outcome: Promise<AnsweredTurn>,
): AnswerStream {
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
