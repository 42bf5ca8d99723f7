// Order within a session, across processes: questions stand in line in the database; each process keeps those that it
// took and begins one when it is the first of its line. It is told so by whoever finished the one before, in this
// process or by a notice of the database; a notice that is lost is made up for by looking, every second.

import { notFound, ServiceError, unavailable } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { isUnavailable } from '../infra/postgres/client.ts';
import type { Tell } from './events.ts';
import { closedFeed, type Feed, type OpenFeed, openFeed, toError, toFailure } from './feed.ts';
import type { ChatCounts } from './figures.ts';
import type { Generate } from './generate.ts';
import { STORE_RETRY_MS, STORE_TIMEOUT_MS } from './limits.ts';
import type { Memory } from './memory.ts';
import type { Finished, TurnStore } from './store/turns.ts';
import type { Answer, AnsweredTurn, Failure, Turn } from './turn.ts';

export type TurnLine = {
  /** Has the turn's answer made when it is the first of its line. */
  enter(turn: Turn, isFirst: boolean): Feed;
  /** An answer that is made in this process, or in another one. */
  follow(ids: { userMessageId: number; answerId: number }): Feed;
  /** The answer is the first of its line now. Where nobody knows what was deleted meanwhile, memory does not count. */
  isFirst(answerId: number, historyVersion?: number): void;
  /** Its question was deleted: it keeps its place, but no model is asked any more. */
  drop(answerId: number): void;
  /** The answer was stored, or will never be, by whatever process. */
  isOver(answerId: number): void;
  /** Whether its answer is being made here, or stands in line here. */
  knows(answerId: number): boolean;
  /** Answers that are waited for here and that another process makes, or may have taken over. */
  followed(): number[];
  /** Answers that are being made here, or wait for their turn. */
  length(): number;
  /** Leaves all answers to other processes: those who wait for them here get a 503. */
  interrupt(): void;
  /** Waits for the answers that are being made; after the time leaves them to other processes. */
  close(timeoutMs: number): Promise<void>;
};

type Entry = { turn: Turn; open: OpenFeed; running: Promise<void> | undefined; isDeleted: boolean };
type Result = { answer: Answer } | { failure: Failure };

export type TurnLineDeps = {
  store: Pick<TurnStore, 'finish' | 'answer'>;
  generate: Generate;
  memory: Pick<Memory, 'forget'>;
  counts: ChatCounts;
  tell: Tell;
  log: Logger;
};

export function createTurnLine({ store, generate, memory, counts, tell, log }: TurnLineDeps): TurnLine {
  const entries = new Map<number, Entry>();
  const waiting = new Map<number, PromiseWithResolvers<void>>();
  const stopping = new AbortController();

  /** A question that failed may have been asked again meanwhile: then its place is another's. */
  const leave = (entry: Entry): void => {
    if (entries.get(entry.turn.answerId) === entry) entries.delete(entry.turn.answerId);
  };
  const begin = (entry: Entry): void => {
    if (stopping.signal.aborted) return;
    entry.running ??= run(entry).finally(() => leave(entry));
  };
  const run = async ({ turn, open, isDeleted }: Entry): Promise<void> => {
    try {
      const result = isDeleted ? { failure: toFailure(deletedRefusal()) } : await make(turn, open);
      if (stopping.signal.aborted && 'failure' in result) throw endingRefusal();
      const finished = await storePatiently(turn, result);
      // From here on nobody else is first, unless this process says so.
      if (finished.outcome === 'stored') {
        tell(finished.event);
        counts['answer' in result ? 'answered' : 'failed'] += 1;
        if (finished.nextId !== null) isFirst(finished.nextId, finished.historyVersion);
      } else {
        memory.forget(turn.answerId);
        counts.superseded += 1;
      }
      open.end(await outcomeOf(turn, result, finished));
      release(turn.answerId);
    } catch (error) {
      // It stays in line: the next look finds it, here or in another process.
      memory.forget(turn.answerId);
      if (!(error instanceof ServiceError))
        log.error({ err: error, answer_id: turn.answerId }, 'an answer could not be stored');
      open.end({ error });
    }
  };
  const make = async (turn: Turn, open: OpenFeed): Promise<Result> => {
    try {
      return { answer: await generate(turn, { onText: open.say, signal: stopping.signal }) };
    } catch (error) {
      if (isUnavailable(error)) return { failure: toFailure(unavailable('The database cannot be reached')) };
      if (!(error instanceof ServiceError) && !stopping.signal.aborted)
        log.error({ err: error, answer_id: turn.answerId }, 'an answer failed unexpectedly');
      return { failure: toFailure(error) };
    }
  };
  /** An answer that was made is not thrown away because the database is away for a moment. */
  const storePatiently = async (turn: Turn, result: Result): Promise<Finished> => {
    const deadline = performance.now() + STORE_TIMEOUT_MS;
    for (;;) {
      try {
        return await store.finish(turn, result);
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > deadline || stopping.signal.aborted) throw error;
        await Bun.sleep(STORE_RETRY_MS);
      }
    }
  };
  const outcomeOf = async (
    turn: Turn,
    result: Result,
    finished: Finished,
  ): Promise<Parameters<OpenFeed['end']>[0]> => {
    if (finished.outcome === 'gone') return { error: notFound('The chat session was deleted') };
    // Another process has taken it over, or a first attempt to store it was not lost after all.
    if (finished.outcome !== 'stored') return settled(turn.answerId);
    if ('failure' in result) return { error: toError(result.failure) };
    return { answered: { ...turn, ...result.answer, createdAt: finished.createdAt } };
  };
  const settled = async (answerId: number): Promise<{ answered: AnsweredTurn } | { error: unknown }> => {
    try {
      return { answered: await elsewhere(answerId) };
    } catch (error) {
      return { error };
    }
  };
  /** Waits until the answer is over, whoever makes it. */
  const elsewhere = async (answerId: number): Promise<AnsweredTurn> => {
    for (;;) {
      if (stopping.signal.aborted) throw endingRefusal();
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
  };
  const isFirst = (answerId: number, historyVersion = UNKNOWN_VERSION): void => {
    const entry = entries.get(answerId);
    if (entry === undefined || entry.running !== undefined) return;
    entry.turn = { ...entry.turn, historyVersion };
    begin(entry);
  };
  /** Lets those who follow an answer look at it again. */
  const release = (answerId: number): void => {
    waiting.get(answerId)?.resolve();
    waiting.delete(answerId);
  };

  const interrupt = (): void => {
    stopping.abort(endingRefusal());
    for (const { open } of entries.values()) open.end({ error: endingRefusal() });
    for (const over of waiting.values()) over.resolve();
  };

  return {
    interrupt,
    enter(turn, isFirst) {
      // One that is taken over may have been deleted before: nobody asks with no words.
      const isDeleted = turn.message === '';
      const entry: Entry = { turn, open: openFeed(turn), running: undefined, isDeleted };
      entries.set(turn.answerId, entry);
      if (isFirst) begin(entry);
      return entry.open.feed;
    },
    follow: (ids) => entries.get(ids.answerId)?.open.feed ?? closedFeed(ids, elsewhere(ids.answerId)),
    isFirst,
    drop(answerId) {
      const entry = entries.get(answerId);
      if (entry === undefined || entry.running !== undefined) return;
      entry.isDeleted = true;
      entry.open.end({ error: deletedRefusal() });
    },
    isOver(answerId) {
      release(answerId);
      const entry = entries.get(answerId);
      if (entry === undefined || entry.running !== undefined) return;
      // It was taken over while it stood in line.
      entry.running = settled(answerId).then((outcome) => {
        entry.open.end(outcome);
        leave(entry);
      });
    },
    knows: (answerId) => entries.has(answerId),
    length: () => entries.size,
    followed: () => [
      ...waiting.keys(),
      ...[...entries.values()].flatMap(({ turn, running }) => (running === undefined ? turn.answerId : [])),
    ],
    async close(timeoutMs) {
      const running = () => [...entries.values()].flatMap((entry) => entry.running ?? []);
      const timer = setTimeout(interrupt, timeoutMs);
      while (running().length > 0) await Promise.all(running());
      clearTimeout(timer);
      interrupt();
      entries.clear();
    },
  };
}

/** What was deleted while a question stood in line is not in the version that it was taken with. */
const UNKNOWN_VERSION = -1;

const deletedRefusal = () => notFound('The message was deleted');
const endingRefusal = () => unavailable('The service is shutting down');
