// The text of one answer while it is made, and its outcome, for any number of listeners.

import { type ServiceError, upstreamTimeout } from '../core/errors.ts';
import { withDeadline } from '../infra/postgres/client.ts';
import { WAIT_TIMEOUT_MS } from './limits.ts';
import type { AnsweredTurn, Turn } from './turn.ts';

/** A part of the text, or the reason why the text so far is not part of the answer after all. */
export type AnswerPart = { text: string } | { retracted: ServiceError };

/** An answer that another process makes, or that was made before, has no parts: its text comes with its outcome. */
export class AnswerStream {
  readonly userMessageId: number;
  readonly answerId: number;
  /** The stored answer. Rejects with the reason why it could not be made. */
  readonly outcome: Promise<AnsweredTurn>;
  readonly #settled = Promise.withResolvers<AnsweredTurn>();
  readonly #listeners = new Set<(part: AnswerPart) => void>();
  #text = '';

  constructor({ userMessageId, answerId }: Pick<Turn, 'userMessageId' | 'answerId'>) {
    this.userMessageId = userMessageId;
    this.answerId = answerId;
    this.outcome = this.#settled.promise;
    // Its clients may have disconnected: then a rejection has no other handler.
    this.outcome.catch(() => undefined);
  }

  /** Calls back with the text so far, then with each further part. The returned function ends the calls. */
  follow(listener: (part: AnswerPart) => void): () => void {
    if (this.#text !== '') listener({ text: this.#text });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  push(text: string): void {
    this.#text += text;
    for (const listener of this.#listeners) listener({ text });
  }

  /** Takes the text back; listeners that have received a part of it are told the reason. */
  retract(reason: ServiceError): void {
    const wasTold = this.#text !== '';
    this.#text = '';
    if (wasTold) for (const listener of this.#listeners) listener({ retracted: reason });
  }

  resolve(answered: AnsweredTurn): void {
    this.#settled.resolve(answered);
  }

  reject(reason: unknown): void {
    this.#settled.reject(reason);
  }
}

/** The stored answer, within the time that a request may take. */
export const answerInTime = ({ outcome }: AnswerStream): Promise<AnsweredTurn> =>
  withDeadline(outcome, WAIT_TIMEOUT_MS, () =>
    upstreamTimeout('The answer is not there yet; the same message again waits for it'),
  );
