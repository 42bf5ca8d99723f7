// What the processes of one service ask one another, so that each of them can answer for all.

/** `metrics`: `MetricFamily[]`. `readiness`: the states of backing services, as /readyz has them. */
export type Topic = 'metrics' | 'readiness';

/** `process`: 1 for the first; absent for what has ended processes left. `answer`: undefined where there was none in time. */
export type Part = { process?: number; answer?: unknown };

export type Siblings = {
  /** What each of them answers, this one included. Rejects when their owner does not pass it on in time. */
  gather(topic: Topic): Promise<Part[]>;
  /** Answers the others, and itself. */
  onAsked(topic: Topic, answer: () => unknown): void;
};

/** How long the first of them may take for its answer: a little longer than its own checks take at most. */
export const ANSWER_WITHIN_MS = 3000;
