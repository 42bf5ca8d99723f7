// The metrics of conversations.

import type { Metric } from '../http/metrics.ts';

export type ChatCounts = {
  answered: number;
  failed: number;
  /** Made here, and stored by another process before. */
  superseded: number;
  /** Accepted over from a process that died. */
  recovered: number;
};

export const createCounts = (): ChatCounts => ({ answered: 0, failed: 0, superseded: 0, recovered: 0 });

/** `inLine` are answers that are being made, or wait for their turn, in this process. */
export const chatMetrics = (counts: ChatCounts, inLine: () => number): Metric[] => [
  {
    name: 'atrium_chat_answers_total',
    help: 'Answers to chat messages, by how they ended.',
    type: 'counter',
    values: () =>
      (['answered', 'failed', 'superseded'] as const).map((outcome) => ({
        labels: { outcome },
        value: counts[outcome],
      })),
  },
  {
    name: 'atrium_chat_answers_recovered_total',
    help: 'Answers taken over from a process that died.',
    type: 'counter',
    values: () => [{ value: counts.recovered }],
  },
  {
    name: 'atrium_chat_answers_in_line',
    help: 'Answers that are being made, or wait for their turn.',
    type: 'gauge',
    values: () => [{ value: inLine() }],
  },
];
