import type { Clock } from '../../core/clock.ts';
import { clampTime } from '../../core/date-time.ts';
import { valueError } from '../../core/errors.ts';
import { readTime } from '../../http/time-parameter.ts';
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
    wanted: { from?: string | undefined; to?: string | undefined; groupBy: Grouping },
  ): Promise<ModelUsageRead> => {
    const to = ceilHour(readTime('to', wanted.to) ?? clock.now().getTime());
    const start = keyId === undefined ? to - WINDOW_DEFAULT_MS : startOfMonth(to - 1);
    const from = floorHour(readTime('from', wanted.from) ?? start);
    if (from > to) throw valueError(['query', 'to'], 'to is before from', wanted.to ?? null);
    if (to - from > MODEL_USAGE_DAYS_MAX * DAY_MS)
      throw valueError(
        ['query', 'from'],
        `a window has ${MODEL_USAGE_DAYS_MAX} days at most`,
        wanted.from ?? null,
      );
    const window = { workspaceId, keyId, from: new Date(from), to: new Date(to) };
    const rows = await store.sum(window, wanted.groupBy);
    const ids = wanted.groupBy === 'key' ? rows.map(({ group }) => group) : undefined;
    const names = ids === undefined ? undefined : await namesOfKeys(workspaceId, ids);
    return {
      from: window.from.toISOString(),
      to: window.to.toISOString(),
      group_by: wanted.groupBy,
      items: rows.map((row) => ({
        group: row.group,
        ...(names === undefined ? {} : { key: names.get(row.group) ?? null }),
        ...render(row),
      })),
      total: render(rows.reduce(add, NOTHING)),
    };
  };
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
  estimated: 0,
  promptTokens: 0,
  completionTokens: 0,
  cost: 0,
  latencyMs: 0,
  firstEvents: 0,
  firstEventMs: 0,
};

const add = (a: Sums, b: Sums): Sums => ({
  requests: a.requests + b.requests,
  estimated: a.estimated + b.estimated,
  promptTokens: a.promptTokens + b.promptTokens,
  completionTokens: a.completionTokens + b.completionTokens,
  cost: a.cost + b.cost,
  latencyMs: a.latencyMs + b.latencyMs,
  firstEvents: a.firstEvents + b.firstEvents,
  firstEventMs: a.firstEventMs + b.firstEventMs,
});

const render = (sums: Sums): ModelUsageSums => ({
  requests: sums.requests,
  estimated: sums.estimated,
  prompt_tokens: sums.promptTokens,
  completion_tokens: sums.completionTokens,
  total_tokens: sums.promptTokens + sums.completionTokens,
  // Money is not a binary fraction.
  cost: Math.round(sums.cost * 1e9) / 1e9,
  latency_ms: mean(sums.latencyMs, sums.requests),
  first_event_ms: mean(sums.firstEventMs, sums.firstEvents),
});

/** To the microsecond. */
const mean = (sumMs: number, count: number): number | null =>
  count === 0 ? null : Math.round((sumMs / count) * 1000) / 1000;
