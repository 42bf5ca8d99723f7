import type { Grouping, Summaries, SummaryRow, SummaryTotal } from '../store/summaries.ts';

export type SummariseQuery = {
  from: number | undefined;
  to: number | undefined;
  typePrefix: string | undefined;
  groupBy: Grouping;
  after: string | undefined;
  size: number;
};

export type Summary = { rows: SummaryRow[]; total: SummaryTotal; next: string | undefined };

export type SummariseDeps = {
  summaries: Summaries;
  /** Resolves when the workspace's transactions in progress are committed. */
  awaitStoring(workspaceId: string): Promise<void>;
};

/** Sums a workspace's events of a window by one of their attributes. */
export function createSummarise({ summaries, awaitStoring }: SummariseDeps) {
  return async (workspaceId: string, { size, ...asked }: SummariseQuery): Promise<Summary> => {
    const query = { ...asked, workspaceId, limit: size };
    // A bill that is made once must not miss events whose commit is in progress.
    await awaitStoring(workspaceId);
    const [rows, total] = await Promise.all([summaries.groups(query), summaries.total(query)]);
    const given = rows.slice(0, size);
    return { rows: given, total, next: rows.length > size ? given.at(-1)?.key : undefined };
  };
}
