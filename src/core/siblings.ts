// What the processes of one service ask one another, so that each of them can answer for all.

import { within } from './wait.ts';

/** `metrics`: `MetricFamily[]`. `readiness`: the states of backing services, as /readyz has them. */
export type Topic = 'metrics' | 'readiness';

/** `process`: 1 for the first; absent for what has ended processes left. `answer`: undefined where there was none in time. */
export type Part = { process?: number; answer?: unknown };

export type Exchanged = { ask: number; topic: Topic } | { asked: number; answer: unknown };

/** How long a process may take for its answer: a little longer than its own checks take at most. */
const ANSWER_WITHIN_MS = 3000;
/** What the owner may take beyond. */
const OWNER_GRACE_MS = 500;

/** Questions and answers between two processes. */
export function createExchange(
  post: (message: Exchanged) => void,
  answer: (topic: Topic) => unknown | Promise<unknown>,
) {
  const pending = new Map<number, (answer: unknown) => void>();
  let count = 0;
  return {
    /** Undefined where there is no answer in time. */
    async ask(topic: Topic, timeoutMs = ANSWER_WITHIN_MS): Promise<unknown> {
      const id = ++count;
      const { promise, resolve } = Promise.withResolvers<unknown>();
      pending.set(id, resolve);
      post({ ask: id, topic });
      const answered = await within(promise, timeoutMs, () => undefined);
      pending.delete(id);
      return answered;
    },
    async receive(message: Exchanged): Promise<void> {
      if ('ask' in message) post({ asked: message.ask, answer: await answer(message.topic) });
      else pending.get(message.asked)?.(message.answer);
    },
  };
}

export type Siblings = ReturnType<typeof createSiblings>;

/** The other processes, as one of them sees them by way of their owner. */
export function createSiblings(post: (message: Exchanged) => void) {
  const answers = new Map<Topic, () => unknown>();
  const exchange = createExchange(post, (topic) => answers.get(topic)?.());
  return {
    /** What each of them answers, this one included. Undefined where their owner does not answer. */
    gather: async (topic: Topic): Promise<Part[] | undefined> =>
      (await exchange.ask(topic, ANSWER_WITHIN_MS + OWNER_GRACE_MS)) as Part[] | undefined,
    /** Answers the others, and itself. */
    onAsked: (topic: Topic, answer: () => unknown): void => void answers.set(topic, answer),
    receive: exchange.receive,
  };
}
