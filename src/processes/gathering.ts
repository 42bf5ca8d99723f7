// The owner's part of what processes ask one another: it passes a question on to all of them, and their answers back.

import { joinFamilies, lasting, type MetricFamily } from '../core/metric-families.ts';
import { ANSWER_WITHIN_MS, type Part, type Topic } from '../core/siblings.ts';
import type { ToProcess } from './owner.ts';

export type Member = {
  /** 1 for the first of the processes. */
  number: number;
  send(message: ToProcess): void;
};

/** After an answer the others are waited for so long: a probe must not fail because of one process that hangs. */
const QUIET_MS = 500;

type Question = {
  topic: Topic;
  answers: Map<Member, unknown>;
  waiting: Set<Member>;
  endWithin(ms: number): void;
};

/** `count`: how many processes there should be; `members`: those that serve now. */
export function createGathering(count: number, members: () => Iterable<Member>) {
  const open = new Map<number, Question>();
  const lastMetrics = new Map<Member, MetricFamily[]>();
  let departed: MetricFamily[] = [];
  let asked = 0;

  /** Sums must not fall while a process hangs, or when it has ended. */
  const partsOf = ({ topic, answers }: Question): Part[] => {
    // A process that has ended since is among the departed.
    const all = [...members()];
    const answerOf = (member: Member | undefined): unknown =>
      member && (answers.get(member) ?? (topic === 'metrics' ? silent(member) : undefined));
    const parts = Array.from({ length: count }, (_, index): Part => {
      const answer = answerOf(all.find(({ number }) => number === index + 1));
      return { process: index + 1, ...(answer === undefined ? {} : { answer }) };
    });
    return topic === 'metrics' ? [...parts, { answer: departed }] : parts;
  };
  const silent = (member: Member): MetricFamily[] => lasting(lastMetrics.get(member) ?? []);

  return {
    ask(asker: Member, topic: Topic, id: number): void {
      const all = [...members()];
      const key = ++asked;
      let timer: Timer | undefined;
      const end = (): void => {
        if (open.delete(key)) asker.send({ gathered: id, parts: partsOf(question) });
      };
      const question: Question = {
        topic,
        answers: new Map(),
        waiting: new Set(all),
        endWithin(ms) {
          clearTimeout(timer);
          timer = ms > 0 ? setTimeout(end, ms) : undefined;
          if (ms === 0) end();
        },
      };
      open.set(key, question);
      question.endWithin(all.length === 0 ? 0 : ANSWER_WITHIN_MS);
      for (const member of all) member.send({ asked: key, topic });
    },

    answer(member: Member, key: number, answer: unknown): void {
      const question = open.get(key);
      if (question?.topic === 'metrics') lastMetrics.set(member, answer as MetricFamily[]);
      question?.answers.set(member, answer);
      settle(question, member);
    },

    leave(member: Member): void {
      for (const question of [...open.values()]) settle(question, member);
      departed = joinFamilies([{ families: departed }, { families: silent(member) }]);
      lastMetrics.delete(member);
    },
  };

  function settle(question: Question | undefined, member: Member): void {
    if (question?.waiting.delete(member)) question.endWithin(question.waiting.size === 0 ? 0 : QUIET_MS);
  }
}
