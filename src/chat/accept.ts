// A question is taken once: stored with its place in the session's line, or led to the answer that it has already.

import {
  forbidden,
  notFound,
  tooLarge,
  tooManyRequests,
  upstreamTimeout,
  valueError,
} from '../core/errors.ts';
import type { WakeEventMover } from '../core/event.ts';
import type { Principal } from '../core/principal.ts';
import { withDeadline } from '../infra/postgres/client.ts';
import { MESSAGE_BYTES_MAX, RETRY_AFTER_SECONDS, WAIT_TIMEOUT_MS } from './limits.ts';
import type { AnswerStream } from './pending-answer.ts';
import type { SessionQueue } from './session-queue.ts';
import type { Question, TurnStore } from './store/turns.ts';
import type { AnsweredTurn, TurnCaller } from './turn.ts';

/** `replayed`: another request was the first, whether or not its answer was already stored. */
export type Accepted = { answerStream: AnswerStream; replayed: boolean };
export type AcceptQuestion = (question: Question) => Promise<Accepted | 'no session'>;

type AcceptDeps = { store: Pick<TurnStore, 'accept'>; line: SessionQueue; wakeMover: WakeEventMover };

/**
 * The question is durable when this resolves, and is answered whether or not a client waits. Throws 403 for an agent
 * whose knowledge the key may not read, 404, 413, 429 for a full queue, and ValidationFailure for a known id with another text.
 */
export function createAcceptQuestion({ store, line, wakeMover }: AcceptDeps): AcceptQuestion {
  return async (question) => {
    assertMessageSize(question.message);
    const takenAt = performance.now();
    const taken = await store.accept(question);
    switch (taken.outcome) {
      case 'accepted':
        // A crash before this leaves the question in line.
        wakeMover();
        return { answerStream: line.enter(taken.turn, { isFirst: taken.isFirst, takenAt }), replayed: false };
      case 'in flight':
      case 'done': {
        const answerStream = line.follow(taken);
        if (taken.outcome === 'done') await answerStream.outcome;
        return { answerStream, replayed: true };
      }
      case 'no session':
        return 'no session';
      case 'no message':
        throw notFound('There is no user message of this id');
      case 'deleted':
        throw notFound('The message was deleted');
      case 'no documents':
        throw forbidden(
          'The API key lacks the scope documents:read, which an agent with knowledge of documents needs',
        );
      case 'full':
        throw tooManyRequests('Too many messages of this session wait for their answers', {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      case 'other text':
        throw valueError(
          ['body', 'channel_user_message_id'],
          'a message of this id was sent before, with another text',
          'replaces' in question.place ? null : question.place.channelMessageId,
        );
    }
  };
}

/** The key whose limits and account a question counts for, and the person whose documents it may use, if any. */
export const toCaller = ({
  email,
  keyId,
  limits,
  scopes,
}: Pick<Principal, 'email' | 'keyId' | 'limits' | 'scopes'>): TurnCaller => ({
  email,
  keyId,
  limits,
  readsAs: scopes.has('documents:read') ? email : null,
});

/** Throws 413. */
export function assertMessageSize(message: string): void {
  if (Buffer.byteLength(message) > MESSAGE_BYTES_MAX)
    throw tooLarge(`The message is larger than ${MESSAGE_BYTES_MAX} bytes`);
}

/** The answer, within the time that a request may take. */
export const answerInTime = (outcome: AnswerStream['outcome']): Promise<AnsweredTurn> =>
  withDeadline(outcome, WAIT_TIMEOUT_MS, () =>
    upstreamTimeout('The answer is not there yet; the same message again waits for it'),
  );
