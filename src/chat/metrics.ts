// The metrics of conversations.

import { counter, gauge, type Metric } from '../http/metrics.ts';

export type ChatCounts = ReturnType<typeof createCounts>;

export const createCounts = () => ({
  answered: 0,
  failed: 0,
  /** Made here, and stored by another process before. */
  superseded: 0,
  /** Taken over from a process that died. */
  recovered: 0,
  /** Searches of knowledge, by what they found, and those of which a part failed or was late. */
  retrievals: { found: 0, empty: 0 },
  retrievalFailures: { failed: 0, late: 0 },
});

const byLabel = (label: string, values: Record<string, number>) =>
  Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));

/** `inLine` are answers that are being made, or wait for their turn, in this process. */
export const chatMetrics = (counts: ChatCounts, inLine: () => number): Metric[] => [
  counter('atrium_chat_answers_total', 'Answers to chat messages, by how they ended.', () => {
    const { answered, failed, superseded } = counts;
    return byLabel('outcome', { answered, failed, superseded });
  }),
  counter(
    'atrium_chat_answers_recovered_total',
    'Answers taken over from a process that died.',
    () => counts.recovered,
  ),
  counter('atrium_chat_retrievals_total', 'Searches of knowledge for answers, by what they found.', () =>
    byLabel('outcome', counts.retrievals),
  ),
  counter('atrium_chat_retrieval_failures_total', 'Searches of knowledge that failed or were late.', () =>
    byLabel('reason', counts.retrievalFailures),
  ),
  gauge('atrium_chat_answers_in_line', 'Answers that are being made, or wait for their turn.', inLine),
];
