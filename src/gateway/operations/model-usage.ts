import type { Clock } from '../../core/clock.ts';
import { clampTime } from '../../core/date-time.ts';
import { valueError } from '../../core/errors.ts';
import { readTime } from '../../http/parsed.ts';
import { addHistograms, type Histogram, percentileOf } from '../accounting/histogram.ts';
import { MODEL_USAGE_DAYS_MAX } from '../limits.ts';
import type { ModelUsageRead, ModelUsageSums } from '../schema.ts';
import type { Grouping, ModelUsageRow, ModelUsageStore } from '../store/model-usage.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WINDOW_DEFAULT_MS = 30 * DAY_MS;

/** Given by whose keys they are; ids that no key has are left out. */
export type DescribeKeys = (
  workspaceId: string,
  ids: readonly string[],
) => Promise<{ id: string; name: string; prefix: string; userEmail: string | null }[]>;

type ModelUsageDeps = { store: ModelUsageStore; describeKeys: DescribeKeys; clock: Clock };
type UsedKey = { name: string; prefix: string; user_email: string | null };

/**
 * The usage of models in whole hours: `from` is rounded down to its hour, `to` up. Throws ValidationFailure for invalid
 * times, windows that end before they begin, and windows of more than a year.
 */
export function createModelUsage({ store, describeKeys, clock }: ModelUsageDeps) {
  /** `group_by=key` groups by ids, because people do not know keys by their ids. */
  const namesOfKeys = async (workspaceId: string, ids: string[]): Promise<Map<string, UsedKey>> => {
    const described = await describeKeys(workspaceId, ids);
    return new Map(
      described.map(({ id, name, prefix, userEmail }) => [id, { name, prefix, user_email: userEmail }]),
    );
  };
  return async (
    { workspaceId, keyId }: { workspaceId: string; keyId?: string },
    wanted: { from?: string | undefined; to?: string | undefined; groupBy: Grouping | 'person' },
  ): Promise<ModelUsageRead> => {
    const present = ceilHour(clock.now().getTime());
    const to = ceilHour(readTime('to', wanted.to) ?? present);
    const start = keyId === undefined ? to - WINDOW_DEFAULT_MS : startOfMonth(to - 1);
    const from = floorHour(readTime('from', wanted.from) ?? start);
    if (from > to) throw valueError(['query', 'to'], 'to is before from', wanted.to ?? null);
    if (to - from > MODEL_USAGE_DAYS_MAX * DAY_MS)
      throw valueError(
        ['query', 'from'],
        `a window has ${MODEL_USAGE_DAYS_MAX} days at most`,
        wanted.from ?? null,
      );
    // The day that is not over has sums, too: an open window reads them instead of its hours.
    const isOpen = to >= present && from < to;
    const window = { workspaceId, keyId, from: new Date(from), to: isOpen ? undefined : new Date(to) };
    const { groupBy } = wanted;
    const rows = await store.sum(window, groupBy === 'person' ? 'key' : groupBy);
    const ids = rows.map(({ group }) => group);
    const hasKeys = groupBy === 'person' || groupBy === 'key';
    const names = hasKeys ? await namesOfKeys(workspaceId, ids) : undefined;
    const ofPersons = groupBy === 'person' ? mergePersons(rows, names) : rows;
    return {
      from: window.from.toISOString(),
      to: new Date(to).toISOString(),
      group_by: groupBy,
      items: ofPersons.map((row) => ({
        group: row.group,
        ...(groupBy === 'key' ? { key: names?.get(row.group) ?? null } : {}),
        ...render(row),
      })),
      total: render(rows.reduce(add, NOTHING)),
    };
  };
}

/** Sums of keys → sums of the people whose keys they are, in the order of their e-mails. */
function mergePersons(
  rows: readonly ModelUsageRow[],
  keys: ReadonlyMap<string, UsedKey> | undefined,
): ModelUsageRow[] {
  const byPerson = Map.groupBy(rows, ({ group }) => keys?.get(group)?.user_email ?? '');
  return [...byPerson]
    .map(([group, ofPerson]) => ({ group, ...ofPerson.reduce(add, NOTHING) }))
    .sort((a, b) => (a.group < b.group ? -1 : 1));
}

/** Of the month in UTC, as budgets count it. */
function startOfMonth(ms: number): number {
  const at = new Date(clampTime(ms));
  at.setUTCDate(1);
  return at.setUTCHours(0, 0, 0, 0);
}

const floorHour = (ms: number): number => clampTime(Math.floor(ms / HOUR_MS) * HOUR_MS);
const ceilHour = (ms: number): number => clampTime(Math.ceil(ms / HOUR_MS) * HOUR_MS);

type Sums = Omit<ModelUsageRow, 'group'>;

const NOTHING: Sums = {
  requests: 0,
  errors: 0,
  estimated: 0,
  promptTokens: 0,
  completionTokens: 0,
  cost: 0,
  latencyMs: 0,
  firstEvents: 0,
  firstEventMs: 0,
  latencies: [],
  firstEventTimes: [],
};

const add = (a: Sums, b: Sums): Sums => ({
  requests: a.requests + b.requests,
  errors: a.errors + b.errors,
  estimated: a.estimated + b.estimated,
  promptTokens: a.promptTokens + b.promptTokens,
  completionTokens: a.completionTokens + b.completionTokens,
  cost: a.cost + b.cost,
  latencyMs: a.latencyMs + b.latencyMs,
  firstEvents: a.firstEvents + b.firstEvents,
  firstEventMs: a.firstEventMs + b.firstEventMs,
  latencies: addHistograms(a.latencies, b.latencies),
  firstEventTimes: addHistograms(a.firstEventTimes, b.firstEventTimes),
});

const render = (sums: Sums): ModelUsageSums => ({
  requests: sums.requests,
  errors: sums.errors,
  estimated: sums.estimated,
  prompt_tokens: sums.promptTokens,
  completion_tokens: sums.completionTokens,
  total_tokens: sums.promptTokens + sums.completionTokens,
  // Money is not a binary fraction.
  cost: Math.round(sums.cost * 1e9) / 1e9,
  latency_ms: mean(sums.latencyMs, sums.requests),
  latency_p50_ms: percentile(sums.latencies, 0.5),
  latency_p95_ms: percentile(sums.latencies, 0.95),
  latency_p99_ms: percentile(sums.latencies, 0.99),
  first_event_ms: mean(sums.firstEventMs, sums.firstEvents),
  first_event_p50_ms: percentile(sums.firstEventTimes, 0.5),
  first_event_p95_ms: percentile(sums.firstEventTimes, 0.95),
  first_event_p99_ms: percentile(sums.firstEventTimes, 0.99),
});

/** To three digits: a histogram is no more exact. */
function percentile(times: Histogram, share: number): number | null {
  const found = percentileOf(times, share);
  return found === undefined ? null : Number(found.toPrecision(3));
}

/** To the microsecond. */
const mean = (sumMs: number, count: number): number | null =>
  count === 0 ? null : Math.round((sumMs / count) * 1000) / 1000;
