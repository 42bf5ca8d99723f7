// The answers that this process makes, one at a time in each session, and those of other processes that it waits for.
//
// The questions of a session wait in a queue in the database; each belongs to the process that accepted it. A process begins an
// answer when it is first in its queue. The process that finishes an answer begins the next one, or notifies its process; every second each
// process also looks at its answers, so a lost notification costs a second. A process that gave no sign of life for ALIVE_MS counts
// as dead: others make its answers. If it was only paused, its attempt cannot be stored any more, and no more of it is sent.

import { conflict, notFound, ServiceError, unavailable, upstreamFailed } from '../core/errors.ts';
import type { WakeEventMover } from '../core/event.ts';
import type { Job } from '../core/lifecycle.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import { currentTrace, inTrace } from '../core/tracing.ts';
import { explainOutage, isUnavailable } from '../infra/postgres/client.ts';
import { AnswerStream } from './answer-stream.ts';
import type { createGenerate } from './generate.ts';
import {
  ALIVE_MS,
  ATTEMPTS_MAX,
  CLOSE_MS,
  JUDGE_MS,
  RECOVERED_MAX,
  STORE_RETRY_MS,
  STORE_TIMEOUT_MS,
  TICK_MS,
} from './limits.ts';
import type { ChatCounts } from './metrics.ts';
import type { Answer, AnsweredTurn, Failure, Question, Turn } from './turn.ts';
import type { Turns } from './turns.ts';

export type Answers = ReturnType<typeof createAnswers>;

type Result = { answer: Answer } | { failure: Failure };

/** An answer of this process: it is made here, or waits for its turn here. */
type OwnAnswer = {
  turn: Turn;
  stream: AnswerStream;
  running: Promise<void> | undefined;
  /** Text that is not sent before the lease is renewed. */
  held: string;
  isDeleted: boolean;
  /** Another process has taken it over, or its session was deleted. */
  isLost: boolean;
  /** Its end may be in the database already, which alone knows whether it counts. */
  isStoring: boolean;
  /** Aborts when the answer is not to be made here any more. */
  ending: AbortController;
  /** Aborts when somebody stops the answer: then the text so far is the answer. */
  stopping: AbortController;
  /** Of the request that asked: the end of another answer may begin this one. */
  trace: ReturnType<typeof currentTrace>;
};

export type AnswersDeps = {
  turns: Turns;
  counts: ChatCounts;
  log: Logger;
};

export function createAnswers(
  { turns, counts, log }: AnswersDeps,
  generate: ReturnType<typeof createGenerate>,
  wakeMover: WakeEventMover,
) {
  const own = new Map<number, OwnAnswer>();
  /** Answers of other processes that requests here wait for; resolved when the answer is to be read again. */
  const awaited = new Map<number, PromiseWithResolvers<void>>();
  let isEnding = false;
  /** Until then no other process takes over an answer of this one, by performance.now. */
  let sureUntil = Number.NEGATIVE_INFINITY;
  let judgesFrom = Number.POSITIVE_INFINITY;
  let renewedAt = Number.NEGATIVE_INFINITY;

  /** Resolves when any process has stored the answer; rejects with the reason of its failure, or 404. */
  const wait = async (answerId: number): Promise<AnsweredTurn> => {
    for (;;) {
      if (isEnding) throw endingRefusal();
      const changed = awaited.get(answerId) ?? Promise.withResolvers<void>();
      awaited.set(answerId, changed);
      const current = await turns.answer(answerId);
      if (current?.state !== 'pending') readAgain(answerId);
      if (current === undefined) throw notFound('The chat session was deleted');
      if (current.state === 'done') return current.answered;
      if (current.state === 'failed') throw toError(current.failure);
      await changed.promise;
    }
  };
  const readAgain = (answerId: number): void => {
    awaited.get(answerId)?.resolve();
    awaited.delete(answerId);
  };

  const say = (answer: OwnAnswer, text: string): void => {
    answer.held += text;
    if (performance.now() >= sureUntil || answer.isLost || answer.held === '') return;
    answer.stream.push(answer.held);
    answer.held = '';
  };

  /** 1. The answer, or why there is none. */
  const make = async (answer: OwnAnswer): Promise<Result> => {
    const { turn, ending, stopping } = answer;
    try {
      ending.signal.throwIfAborted();
      stopping.signal.throwIfAborted();
      if (answer.isDeleted) throw deletedRefusal();
      if (turn.attempt > ATTEMPTS_MAX) throw upstreamFailed('The answer could not be made');
      const onText = (text: string): void => say(answer, text);
      return { answer: await generate(turn, onText, { signal: ending.signal, stop: stopping.signal }) };
    } catch (error) {
      const refusal = error instanceof ServiceError ? error : explainOutage(error);
      if (refusal === undefined && !ending.signal.aborted)
        log.error({ err: error, answer_id: turn.answerId }, 'an answer failed unexpectedly');
      return { failure: toFailure(refusal) };
    }
  };
  /** 2. Its row. An answer that was made is not thrown away because the database is unavailable for a moment. */
  const store = async (answer: OwnAnswer, result: Result) => {
    const deadline = performance.now() + STORE_TIMEOUT_MS;
    answer.isStoring = true;
    for (;;) {
      try {
        return await turns.finish(answer.turn, result);
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > deadline || isEnding) throw error;
        await Bun.sleep(STORE_RETRY_MS);
      }
    }
  };
  /** 3. Its callers, and the next answer of the session. */
  const run = async (answer: OwnAnswer): Promise<void> => {
    const { turn, stream } = answer;
    try {
      const result = await make(answer);
      if (isEnding && 'failure' in result) throw endingRefusal();
      const finished = answer.isLost ? undefined : await store(answer, result);
      if (finished === undefined) {
        counts.superseded += 1;
        return followOther(answer, 'answer' in result ? result.answer.message : undefined);
      }
      wakeMover();
      counts['answer' in result ? 'answered' : 'failed'] += 1;
      if ('failure' in result) stream.reject(toError(result.failure));
      else stream.resolve({ ...turn, ...result.answer, createdAt: finished.createdAt });
      readAgain(turn.answerId);
      if (finished.waiting === 0) return;
      const next = own.get((await turns.next(turn.sessionId)) ?? 0);
      if (next !== undefined) begin(next);
    } catch (error) {
      // A pending answer stays in the queue: the next look finds it, here or in another process.
      if (!(error instanceof ServiceError))
        log.error({ err: error, answer_id: turn.answerId }, 'an answer could not be stored');
      stream.reject(error);
    } finally {
      // A question that failed may have been asked again in the meantime.
      if (own.get(turn.answerId) === answer) own.delete(turn.answerId);
    }
  };
  /** Its callers get the answer of another attempt, except those that received a part of another text. */
  const followOther = ({ turn, stream }: OwnAnswer, made: string | undefined): void => {
    void wait(turn.answerId).then(
      (answered) => {
        // The text is the same where only the confirmation of the first attempt to store it was lost.
        if (answered.message !== made) stream.retract(takenOverRefusal());
        stream.resolve(answered);
      },
      (error: unknown) => stream.reject(error),
    );
  };
  const begin = (answer: OwnAnswer): void => {
    if (!isEnding) answer.running ??= inTrace(answer.trace, () => run(answer));
  };
  const stop = (answer: OwnAnswer): void => {
    answer.stopping.abort(conflict('The answer was stopped'));
    begin(answer);
  };
  const lose = (answer: OwnAnswer, { isGone = false } = {}): void => {
    answer.isLost = true;
    answer.ending.abort(takenOverRefusal());
    if (!isGone) answer.stream.retract(takenOverRefusal());
    begin(answer);
  };

  const enter = (
    turn: Turn,
    { isFirst, isStopped = false }: { isFirst: boolean; isStopped?: boolean },
  ): AnswerStream => {
    const earlier = own.get(turn.answerId);
    if (earlier !== undefined) lose(earlier);
    const answer: OwnAnswer = {
      turn,
      stream: new AnswerStream(turn),
      running: undefined,
      held: '',
      isDeleted: turn.message === '',
      isLost: false,
      isStoring: false,
      ending: new AbortController(),
      stopping: new AbortController(),
      trace: currentTrace(),
    };
    own.set(turn.answerId, answer);
    if (isStopped) stop(answer);
    else if (isFirst) begin(answer);
    return answer.stream;
  };

  /** Reads what has changed: answers that were taken over, stopped, deleted, finished elsewhere, or are first by now. */
  const look = async (answerIds: readonly number[]): Promise<void> => {
    const looked = answerIds.map((answerId) => ({ answerId, answer: own.get(answerId) }));
    if (!looked.some(({ answerId, answer }) => answer !== undefined || awaited.has(answerId))) return;
    const states = new Map((await turns.look(answerIds)).map((each) => [each.answerId, each]));
    for (const { answerId, answer } of looked) {
      const current = states.get(answerId);
      if (current?.state !== 'pending') readAgain(answerId);
      if (answer === undefined || answer.isStoring || answer.isLost) continue;
      const { place, attempt } = answer.turn;
      if (current?.place !== place || current.attempt !== attempt) {
        lose(answer, { isGone: current === undefined });
      } else if (current.isStopped) {
        stop(answer);
      } else if (current.isDeleted && answer.running === undefined) {
        answer.isDeleted = true;
        answer.stream.reject(deletedRefusal());
      }
      if (current?.isFirst === true) begin(answer);
    }
  };

  const takeOver = async (): Promise<void> => {
    const mayJudge = performance.now() >= judgesFrom;
    for (const lost of await turns.lost()) {
      const recovered = [...own.values()].filter(({ turn }) => turn.attempt > 1).length;
      const isOver = lost.isMine ? !own.has(lost.answerId) : lost.isGone || mayJudge;
      if (!isOver || recovered >= RECOVERED_MAX || isEnding) continue;
      const turn = await turns.adopt(lost);
      if (turn === undefined) continue;
      counts.recovered += 1;
      log.info({ answer_id: turn.answerId, attempt: turn.attempt }, 'an answer is taken over');
      enter(turn, { isFirst: true, isStopped: turn.isStopped });
    }
  };

  /**
   * After an outage of the database every lease has expired, although no process has died. So a process that could not renew its own
   * lease in time lets the others renew theirs first.
   */
  const tick = async (): Promise<void> => {
    const startedAt = performance.now();
    await turns.renew();
    if (startedAt - renewedAt > JUDGE_MS) judgesFrom = performance.now() + ALIVE_MS;
    renewedAt = startedAt;
    await look([...own.keys(), ...awaited.keys()]);
    sureUntil = startedAt + ALIVE_MS;
    for (const answer of own.values()) say(answer, '');
    await takeOver();
  };
  /** Leaves all answers to other processes; requests that wait for them here get a 503. */
  const interrupt = (): void => {
    isEnding = true;
    for (const { stream, ending } of own.values()) {
      ending.abort(endingRefusal());
      stream.reject(endingRefusal());
    }
    for (const answerId of awaited.keys()) readAgain(answerId);
  };

  /** Questions that are accepted from now on are this process's. */
  const holdLease = async (): Promise<void> => {
    sureUntil = performance.now() + ALIVE_MS;
    await turns.renew();
  };
  const finishRunning = async (): Promise<void> => {
    const timer = setTimeout(interrupt, CLOSE_MS);
    const running = () => [...own.values()].flatMap((answer) => answer.running ?? []);
    while (running().length > 0) await Promise.all(running());
    clearTimeout(timer);
    interrupt();
  };

  /** An answer that is made in this process or in another one, or was made before. */
  const follow = ({ userMessageId, answerId }: Pick<Turn, 'userMessageId' | 'answerId'>): AnswerStream => {
    const answer = own.get(answerId);
    if (answer !== undefined) return answer.stream;
    const stream = new AnswerStream({ userMessageId, answerId });
    void wait(answerId).then(
      (answered) => stream.resolve(answered),
      (error: unknown) => stream.reject(error),
    );
    return stream;
  };

  return {
    /**
     * The answer to a question, which is made whether or not a client waits. `replayed`: another request was the first, whether or
     * not its answer is stored already. Throws as `accept` does.
     */
    async ask(question: Question): Promise<{ stream: AnswerStream; replayed: boolean }> {
      const accepted = await turns.accept(question);
      if ('earlier' in accepted) return { stream: follow(accepted.earlier), replayed: true };
      // A crash before this leaves the question in the queue.
      wakeMover();
      return { stream: enter(accepted.turn, accepted), replayed: false };
    },
    follow,
    look,
    /** How many answers are made here, or wait for their turn here. */
    length: (): number => own.size,
    interrupt,
    /** Started in this order, and ended in reverse: answers that are made here have a while to end before the lease does. */
    jobs: [
      { name: 'chat.lease', start: holdLease, stop: turns.leave },
      createPeriodic({ name: 'chat.answers', intervalMs: TICK_MS, run: tick, log }),
      { name: 'chat.running', start: () => undefined, stop: finishRunning },
    ] satisfies Job[],
  };
}

/** Undefined stands for an unexpected error. */
const toFailure = (refusal: ServiceError | undefined): Failure =>
  refusal === undefined
    ? { sentence: 'Internal Server Error', kind: 'internal', retryAfterSeconds: undefined }
    : { sentence: refusal.message, kind: refusal.kind, retryAfterSeconds: refusal.retryAfterSeconds };

const toError = ({ kind, sentence, retryAfterSeconds }: Failure): Error =>
  kind === 'internal'
    ? new Error('the answer failed before, unexpectedly')
    : new ServiceError(kind, sentence, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });

const deletedRefusal = () => notFound('The message was deleted');
const takenOverRefusal = () =>
  unavailable('Another process has taken over the answer; the same message again gives it');
const endingRefusal = () => unavailable('The service is shutting down');
