// The metrics of conversations.

import { counter, gauge, type Metric } from '../http/metrics.ts';

export type ChatCounts = {
  answered: number;
  failed: number;
  /** Made here, and stored by another process before. */
  superseded: number;
  /** Accepted over from a process that died. */
  recovered: number;
};

/** Searches of knowledge by what they found, and how often a part of one failed or was late. */
export type RetrievalCounts = { found: number; empty: number; failed: number; late: number };

export const createRetrievalCounts = (): RetrievalCounts => ({ found: 0, empty: 0, failed: 0, late: 0 });

export const createCounts = (): ChatCounts => ({ answered: 0, failed: 0, superseded: 0, recovered: 0 });

/** `inLine` are answers that are being made, or wait for their turn, in this process. */
export const chatMetrics = (
  counts: ChatCounts,
  retrievals: RetrievalCounts,
  inLine: () => number,
): Metric[] => [
  counter('atrium_chat_answers_total', 'Answers to chat messages, by how they ended.', () =>
    (['answered', 'failed', 'superseded'] as const).map((outcome) => ({
      labels: { outcome },
      value: counts[outcome],
    })),
  ),
  counter(
    'atrium_chat_answers_recovered_total',
    'Answers taken over from a process that died.',
    () => counts.recovered,
  ),
  counter('atrium_chat_retrievals_total', 'Searches of knowledge for answers, by what they found.', () =>
    (['found', 'empty'] as const).map((outcome) => ({ labels: { outcome }, value: retrievals[outcome] })),
  ),
  counter('atrium_chat_retrieval_failures_total', 'Searches of knowledge that failed or were late.', () =>
    (['failed', 'late'] as const).map((reason) => ({ labels: { reason }, value: retrievals[reason] })),
  ),
  gauge('atrium_chat_answers_in_line', 'Answers that are being made, or wait for their turn.', inLine),
];
