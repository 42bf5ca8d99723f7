import { useMemo } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Button } from './components/button.tsx';
import { Chart, type Series } from './components/chart.tsx';
import { Select } from './components/field.tsx';
import { Empty, ErrorNotice, Loading } from './components/notice.tsx';
import { Section } from './components/page.tsx';
import { type Column, Pager, Table } from './components/table.tsx';
import { save, toCsv } from './csv.ts';
import type { MessageName } from './messages.ts';
import { lastDays, spread } from './periods.ts';
import { useResource } from './resource.ts';
import { hrefWith, navigate, query } from './router.ts';
import { workspace } from './state.ts';
import { formatMilliseconds, formatMoney, formatNumber, t } from './text.ts';

type Usage = Schemas['ModelUsage'];
type Row = Usage['items'][number];

const GROUPINGS = ['model', 'target', 'key', 'person', 'endpoint', 'outcome', 'day'] as const;
type Grouping = (typeof GROUPINGS)[number];

export const readModelUsage = (from: number, groupBy: Grouping): Promise<Usage> =>
  answerOf(
    api.GET('/admin/api/workspaces/{workspace_id}/model-usage', {
      params: {
        path: { workspace_id: workspace.value },
        query: { from: new Date(from).toISOString(), group_by: groupBy },
      },
    }),
  );

/** Rows of the table that are shown at once; the CSV has all of them. */
const PAGE_SIZE = 50;

function nameOf(grouping: Grouping, { group, key }: Row): string {
  if (grouping === 'person' && group === '') return t('usage.nobody');
  return key === undefined ? group : key === null ? t('usage.no-key') : `${key.name} (${key.prefix}…)`;
}

/** Calls of models in sums: by day, and grouped by one property. */
export function ModelUsage({ days }: { days: number }) {
  const grouping = GROUPINGS.find((each) => each === query.value.get('by')) ?? 'model';
  const usage = useResource(async () => {
    const times = lastDays(days);
    const from = times[0] ?? 0;
    const [byDay, byGroup] = await Promise.all([readModelUsage(from, 'day'), readModelUsage(from, grouping)]);
    return { times, byDay, byGroup };
  }, [workspace.value, days, grouping]);
  if (usage.data === undefined)
    return usage.error === undefined ? <Loading /> : <ErrorNotice error={usage.error} retry={usage.reload} />;
  const { times, byDay, byGroup } = usage.data;
  const rows = [...byGroup.items].sort((a, b) =>
    grouping === 'day' ? b.group.localeCompare(a.group) : b.requests - a.requests,
  );
  const page = Math.max(1, Number(query.value.get('page')) || 1);
  const shown = rows.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  return (
    <>
      <Charts times={times} usage={byDay} />
      <Section
        title={t('usage.table')}
        aside={
          <>
            <Select
              label={t('usage.by')}
              value={grouping}
              onValue={(by) => navigate(hrefWith({ by, page: undefined }))}
              choices={GROUPINGS.map((value) => ({ value, label: t(`usage.by.${value}` as MessageName) }))}
            />
            <Button
              onClick={() => save(`model-usage-by-${grouping}.csv`, renderCsv(grouping, rows), 'text/csv')}
            >
              CSV
            </Button>
          </>
        }
      >
        {rows.length === 0 ? (
          <Empty title={t('usage.none')} />
        ) : (
          <Table
            caption={t('usage.table')}
            rows={shown}
            keyOf={({ group }) => group}
            columns={columnsOf(grouping)}
          />
        )}
        <Pager
          next={rows.length > page * PAGE_SIZE ? String(page + 1) : null}
          cursor={page > 1 ? String(page) : null}
          name="page"
        />
      </Section>
    </>
  );
}

function Charts({ times, usage }: { times: readonly number[]; usage: Usage }) {
  const values = useMemo(() => {
    const daily = (read: (row: Row) => number): number[] =>
      spread(times, usage.items, ({ group }) => group, read);
    return {
      requests: [{ label: t('home.requests'), values: daily(({ requests }) => requests) }],
      tokens: [
        { label: t('usage.prompt'), values: daily((row) => row.prompt_tokens) },
        { label: t('usage.completion'), values: daily((row) => row.completion_tokens) },
      ],
      cost: [{ label: t('home.spend'), values: daily(({ cost }) => cost) }],
      latency: percentiles(times, usage, 'latency'),
      first: percentiles(times, usage, 'first_event'),
      errors: [{ label: t('usage.errors'), values: daily(({ errors }) => errors) }],
    };
  }, [times, usage]);
  const { total } = usage;
  return (
    <div class="columns">
      <Chart
        title={t('home.requests')}
        total={formatNumber(total.requests)}
        times={times}
        series={values.requests}
      />
      <Chart
        title={t('usage.tokens')}
        total={formatNumber(total.total_tokens)}
        times={times}
        series={values.tokens}
      />
      <Chart title={t('home.spend')} total={formatMoney(total.cost)} times={times} series={values.cost} />
      <Chart
        title={t('usage.errors')}
        total={formatNumber(total.errors)}
        times={times}
        series={values.errors}
      />
      <Chart
        title={t('usage.percentiles')}
        total={renderPercentiles(total, 'latency')}
        times={times}
        series={values.latency}
        format={formatMilliseconds}
      />
      <Chart
        title={t('usage.first.percentiles')}
        total={renderPercentiles(total, 'first_event')}
        times={times}
        series={values.first}
        format={formatMilliseconds}
      />
    </div>
  );
}

type Time = 'latency' | 'first_event';
const PERCENTILES = ['p50', 'p95', 'p99'] as const;

/** A line for each percentile; a day without requests has none. */
const percentiles = (times: readonly number[], { items }: Usage, time: Time): Series[] =>
  PERCENTILES.map((label) => ({
    label,
    values: spread<Row, number | null>(
      times,
      items,
      ({ group }) => group,
      (row) => row[`${time}_${label}_ms`],
      null,
    ),
  }));

const renderPercentiles = (row: Usage['total'], time: Time): string =>
  PERCENTILES.flatMap((label) => {
    const value = row[`${time}_${label}_ms`];
    return value === null ? [] : [`${label} ${formatMilliseconds(value)}`];
  }).join(' · ') || '–';

const columnsOf = (grouping: Grouping): Column<Row>[] => [
  {
    title: t(`usage.by.${grouping}` as MessageName),
    cell: (row) => <span class="name">{nameOf(grouping, row)}</span>,
  },
  { title: t('usage.requests'), kind: 'number', cell: ({ requests }) => formatNumber(requests) },
  { title: t('usage.errors'), kind: 'number', cell: ({ errors }) => formatNumber(errors) },
  { title: t('usage.prompt'), kind: 'number', cell: (row) => formatNumber(row.prompt_tokens) },
  { title: t('usage.completion'), kind: 'number', cell: (row) => formatNumber(row.completion_tokens) },
  { title: t('home.spend'), kind: 'number', cell: ({ cost }) => formatMoney(cost) },
  ...PERCENTILES.map((percentile) => ({
    title: t('usage.total.percentile', { percentile }),
    kind: 'number' as const,
    cell: (row: Row) => formatMilliseconds(row[`latency_${percentile}_ms`]),
  })),
  ...PERCENTILES.map((percentile) => ({
    title: t('usage.first.percentile', { percentile }),
    kind: 'number' as const,
    cell: (row: Row) => formatMilliseconds(row[`first_event_${percentile}_ms`]),
  })),
];

const CSV_COLUMNS = [
  'requests',
  'errors',
  'prompt_tokens',
  'completion_tokens',
  'cost',
  'latency_ms',
  'latency_p50_ms',
  'latency_p95_ms',
  'latency_p99_ms',
  'first_event_ms',
  'first_event_p50_ms',
  'first_event_p95_ms',
  'first_event_p99_ms',
] as const;

const renderCsv = (grouping: Grouping, rows: readonly Row[]): string =>
  toCsv([
    [grouping, ...CSV_COLUMNS],
    ...rows.map((row) => [nameOf(grouping, row), ...CSV_COLUMNS.map((column) => row[column])]),
  ]);
