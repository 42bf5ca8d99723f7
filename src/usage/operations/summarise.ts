import type { Clock } from '../../core/clock.ts';
import { codeOf, valueError } from '../../core/errors.ts';
import { hasWholeHours } from '../../core/time-zone.ts';
import type { StorageBarrier } from '../store/lock-stripes.ts';
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

/** PostgreSQL's error code for a time zone that it does not know. */
const INVALID_PARAMETER = '22023';
const BY_TIME: readonly Grouping[] = ['hour', 'day', 'month'];

/** Sums of the events of workspaces. */
export class EventSums {
  private readonly summaries: Summaries;
  private readonly barrier: StorageBarrier;
  private readonly clock: Clock;

  constructor({
    summaries,
    barrier,
    clock,
  }: {
    summaries: Summaries;
    barrier: StorageBarrier;
    clock: Clock;
  }) {
    this.summaries = summaries;
    this.barrier = barrier;
    this.clock = clock;
  }

  /** Sums a workspace's events of a window by one of their attributes. */
  async read(workspaceId: string, { size, ...asked }: SummariseQuery): Promise<Summary> {
    const { time, timezone, groupBy } = asked;
    // Rollups have hours of UTC by time of storage.
    const splitsHours = BY_TIME.includes(groupBy) && !hasWholeHours(timezone, this.clock.now());
    const query = { ...asked, workspaceId, limit: size, ofEvents: time === 'event' || splitsHours };
    // A bill that is made once must not miss events whose commit is in progress.
    await this.barrier.wait(workspaceId);
    try {
      const [rows, total] = await Promise.all([this.summaries.groups(query), this.summaries.total(query)]);
      const given = rows.slice(0, size);
      return { rows: given, total, next: rows.length > size ? given.at(-1)?.key : undefined };
    } catch (error) {
      if (codeOf(error) !== INVALID_PARAMETER) throw error;
      throw valueError(['query', 'timezone'], 'the database does not know this time zone', timezone);
    }
  }
}
