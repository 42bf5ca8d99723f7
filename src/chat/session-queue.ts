// The order within a session, across processes: questions wait in a queue in the database. Each process holds the ones
// that it accepted, and begins one when it is first in its queue. The process that finished the previous answer reports
// this, in the same process directly, otherwise by a notification of the database; a check every second makes up for
// lost notifications. Another process may take over this one's answers only after its lease has expired: then nothing
// begins here, nothing is sent and nothing is stored until the database has confirmed the owner.

import { notFound, ServiceError, unavailable } from '../core/errors.ts';
import type { WakeEventMover } from '../core/event.ts';
import type { Logger } from '../core/logger.ts';
import { inTrace } from '../core/tracing.ts';
import { explainOutage, isUnavailable } from '../infra/postgres/client.ts';
import type { Generate } from './generate.ts';
import { STORE_RETRY_MS, STORE_TIMEOUT_MS } from './limits.ts';
import type { Memory } from './memory.ts';
import type { ChatCounts } from './metrics.ts';
import {
  type AnswerStream,
  closedStream,
  createFollowed,
  type Lease,
  type OwnAnswer,
  openAnswer,
  stoppedRefusal,
  toError,
  toFailure,
} from './pending-answer.ts';
import type { Finished, TurnStore } from './store/turns.ts';
import type { Answer, Failure, Turn } from './turn.ts';

export type SessionQueue = ReturnType<typeof createSessionQueue>;

type Result = { answer: Answer } | { failure: Failure };

export type SessionQueueDeps = {
  store: Pick<TurnStore, 'finish' | 'answer' | 'over'>;
  lease: Pick<Lease, 'covers'>;
  generate: Generate;
  memory: Pick<Memory, 'forget'>;
  counts: ChatCounts;
  wakeMover: WakeEventMover;
  log: Logger;
};

export function createSessionQueue(deps: SessionQueueDeps) {
  const { store, lease, generate, memory, counts, wakeMover, log } = deps;
  const entries = new Map<number, OwnAnswer>();
  const followed = createFollowed({ store, endingRefusal });
  let isStopping = false;

  /** A question that failed may have been asked again meanwhile: then its place is another's. */
  const leave = (entry: OwnAnswer): void => {
    if (entries.get(entry.turn.answerId) === entry) entries.delete(entry.turn.answerId);
  };
  const begin = (entry: OwnAnswer): void => {
    entry.isFirst = true;
    if (!isStopping && entry.isSure()) entry.running ??= run(entry);
  };
  /** Its callers get the other attempt's answer, except those that received a part of this one. */
  const lose = (entry: OwnAnswer, { isGone } = { isGone: false }): void => {
    if (entry.isLost || entry.isStoring) return;
    entry.isLost = true;
    entry.ending.abort(takenOverRefusal());
    if (!isGone) entry.retract(takenOverRefusal());
    entry.running ??= run(entry);
  };
  /** The end of another answer may begin it: its spans belong to its own request. */
  const run = (entry: OwnAnswer): Promise<void> =>
    inTrace(entry.trace, () => answer(entry).finally(() => leave(entry)));
  const answer = async (entry: OwnAnswer): Promise<void> => {
    const { turn, isDeleted } = entry;
    try {
      const result = isDeleted ? { failure: toFailure(deletedRefusal()) } : await make(entry);
      if (isStopping && 'failure' in result) throw endingRefusal();
      const finished = await storePatiently(entry, result);
      // From here on no other answer is first, unless this process says so.
      if (finished.outcome === 'stored') {
        wakeMover();
        counts['answer' in result ? 'answered' : 'failed'] += 1;
        if (finished.nextId !== null) isFirst(finished.nextId, finished.historyVersion);
      } else {
        memory.forget(turn.answerId);
        counts.superseded += 1;
      }
      entry.end(await outcomeOf(entry, result, finished));
      followed.look(turn.answerId);
    } catch (error) {
      // It stays in line: the next look finds it, here or in another process.
      memory.forget(turn.answerId);
      if (!(error instanceof ServiceError))
        log.error({ err: error, answer_id: turn.answerId }, 'an answer could not be stored');
      entry.end({ error });
    }
  };
  const make = async ({ turn, say, ending, stopping }: OwnAnswer): Promise<Result> => {
    const { signal } = ending;
    const stop = stopping.signal;
    try {
      signal.throwIfAborted();
      stop.throwIfAborted();
      return { answer: await generate(turn, { onText: say, signal, stop }) };
    } catch (error) {
      const outage = explainOutage(error);
      if (outage !== undefined) return { failure: toFailure(outage) };
      if (!(error instanceof ServiceError) && !signal.aborted)
        log.error({ err: error, answer_id: turn.answerId }, 'an answer failed unexpectedly');
      return { failure: toFailure(error) };
    }
  };
  /** An answer that was made is not thrown away because the database is away for a moment. */
  const storePatiently = async (entry: OwnAnswer, result: Result): Promise<Finished> => {
    const deadline = performance.now() + STORE_TIMEOUT_MS;
    for (;;) {
      if (entry.isLost) return { outcome: 'superseded' };
      let failure: unknown = unavailable('The database cannot be reached');
      if (entry.isStoring || entry.isSure()) {
        entry.isStoring = true;
        try {
          return await store.finish(entry.turn, result);
        } catch (error) {
          if (!isUnavailable(error)) throw error;
          failure = error;
        }
      }
      if (performance.now() > deadline || isStopping) throw failure;
      await Bun.sleep(STORE_RETRY_MS);
    }
  };
  const outcomeOf = async (
    { turn, retract }: OwnAnswer,
    result: Result,
    finished: Finished,
  ): Promise<Parameters<OwnAnswer['end']>[0]> => {
    if (finished.outcome === 'gone') return { error: notFound('The chat session was deleted') };
    if (finished.outcome !== 'stored') {
      return followed.wait(turn.answerId).then(
        (answered) => {
          // It is the same where a first attempt to store it was not lost after all.
          const isSame = 'answer' in result && result.answer.message === answered.message;
          if (!isSame) retract(takenOverRefusal());
          return { answered };
        },
        (error: unknown) => ({ error }),
      );
    }
    if ('failure' in result) return { error: toError(result.failure) };
    return { answered: { ...turn, ...result.answer, createdAt: finished.createdAt } };
  };
  /** The answer is now first in its queue. If intermediate deletions are unknown, the cached memory is not used. */
  const isFirst = (answerId: number, historyVersion = UNKNOWN_VERSION): void => {
    const entry = entries.get(answerId);
    if (entry === undefined || entry.running !== undefined) return;
    entry.turn = { ...entry.turn, historyVersion };
    begin(entry);
  };
  /** The text so far is the answer. One that waits in the queue fails at once, without its turn: no model is asked. */
  const stop = (answerId: number): void => {
    const entry = entries.get(answerId);
    if (entry === undefined || entry.isStoring) return;
    entry.stopping.abort(stoppedRefusal());
    entry.running ??= run(entry);
  };
  /** Leaves all answers to other processes: those who wait for them here get a 503. */
  const interrupt = (): void => {
    isStopping = true;
    for (const { end, ending } of entries.values()) {
      ending.abort(endingRefusal());
      end({ error: endingRefusal() });
    }
    followed.interrupt();
  };

  return {
    /** Has the turn's answer made when it is the first of its line. `takenAt` (performance.now) is before it was taken. */
    enter(turn: Turn, { isFirst, takenAt }: { isFirst: boolean; takenAt: number }): AnswerStream {
      const earlier = entries.get(turn.answerId);
      if (earlier !== undefined) lose(earlier);
      const entry = openAnswer(turn, { takenAt, lease });
      entries.set(turn.answerId, entry);
      if (isFirst) begin(entry);
      return entry.answerStream;
    },
    /** An answer that is made in this process, or in another one. */
    follow: (ids: { userMessageId: number; answerId: number }): AnswerStream =>
      entries.get(ids.answerId)?.answerStream ?? closedStream(ids, followed.wait(ids.answerId)),
    isFirst,
    stop,
    /** Its question was deleted: it keeps its place, but no model is asked any more. */
    drop(answerId: number): void {
      const entry = entries.get(answerId);
      if (entry === undefined || entry.running !== undefined) return;
      entry.isDeleted = true;
      entry.end({ error: deletedRefusal() });
    },
    /** The answer was stored, or will never be, by another process. */
    isOver: followed.look,
    /** Whether its answer is being made here, or stands in line here. */
    knows: (answerId: number): boolean => entries.has(answerId),
    /** Answers that are being made here, or wait for their turn. */
    length: (): number => entries.size,
    /** Reads which answers were taken over from this process or stopped, and which of other processes have ended. */
    async check(): Promise<void> {
      const askedAt = performance.now();
      const own = [...entries.values()].filter(({ isLost, isStoring }) => !isLost && !isStoring);
      const attempts = own.map(({ turn: { answerId, attempt } }) => ({ answerId, attempt }));
      const followedIds = followed.ids();
      if (own.length + followedIds.length === 0) return;
      const over = new Map((await store.over(attempts, followedIds)).map((each) => [each.answerId, each]));
      for (const answerId of followedIds) if (over.has(answerId)) followed.look(answerId);
      for (const entry of own) {
        const found = over.get(entry.turn.answerId);
        if (found !== undefined && !found.isStopped) lose(entry, found);
        else {
          if (found?.isStopped === true) stop(entry.turn.answerId);
          entry.ownedAt = askedAt;
          if (entry.isFirst) begin(entry);
          entry.flush();
        }
      }
    },
    interrupt,
    /** Waits for the answers that are being made; after the time leaves them to other processes. */
    async close(timeoutMs: number): Promise<void> {
      const running = () => [...entries.values()].flatMap((entry) => entry.running ?? []);
      const timer = setTimeout(interrupt, timeoutMs);
      while (running().length > 0) await Promise.all(running());
      clearTimeout(timer);
      interrupt();
      entries.clear();
    },
  };
}

/** The version of an accepted question does not include deletions during its time in the queue. */
const UNKNOWN_VERSION = -1;

const deletedRefusal = () => notFound('The message was deleted');
const takenOverRefusal = () =>
  unavailable('Another process has taken over the answer; the same message again gives it');
const endingRefusal = () => unavailable('The service is shutting down');
