import type { Clock } from '../../core/clock.ts';
import { codeOf, valueError } from '../../core/errors.ts';
import { hasWholeHours } from '../../core/time-zone.ts';
import type { Grouping, Summaries, SummaryRow, SummaryTotal } from '../store/summaries.ts';

export type SummariseQuery = {
  from: number | undefined;
  to: number | undefined;
  typePrefix: string | undefined;
  groupBy: Grouping;
  time: 'stored' | 'event';
  timezone: string;
  after: string | undefined;
  size: number;
};

export type Summary = { rows: SummaryRow[]; total: SummaryTotal; next: string | undefined };

export type SummariseDeps = {
  summaries: Summaries;
  /** Resolves when the workspace's transactions in progress are committed. */
  awaitStoring(workspaceId: string): Promise<void>;
  clock: Clock;
};

/** PostgreSQL's error code for a time zone that it does not know. */
const INVALID_PARAMETER = '22023';
const BY_TIME: readonly Grouping[] = ['hour', 'day', 'month'];

/** Sums a workspace's events of a window by one of their attributes. */
export function createSummarise({ summaries, awaitStoring, clock }: SummariseDeps) {
  return async (workspaceId: string, { size, ...asked }: SummariseQuery): Promise<Summary> => {
    const { time, timezone, groupBy } = asked;
    // Rollups have hours of UTC by time of storage.
    const splitsHours = BY_TIME.includes(groupBy) && !hasWholeHours(timezone, clock.now());
    const query = { ...asked, workspaceId, limit: size, ofEvents: time === 'event' || splitsHours };
    // A bill that is made once must not miss events whose commit is in progress.
    await awaitStoring(workspaceId);
    try {
      const [rows, total] = await Promise.all([summaries.groups(query), summaries.total(query)]);
      const given = rows.slice(0, size);
      return { rows: given, total, next: rows.length > size ? given.at(-1)?.key : undefined };
    } catch (error) {
      if (codeOf(error) !== INVALID_PARAMETER) throw error;
      throw valueError(['query', 'timezone'], 'the database does not know this time zone', timezone);
    }
  };
}
