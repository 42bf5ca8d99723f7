import { useMemo } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Button } from './components/button.tsx';
import { Chart } from './components/chart.tsx';
import { Select } from './components/field.tsx';
import { Empty, ErrorNotice, Loading } from './components/notice.tsx';
import { Section } from './components/page.tsx';
import { type Column, Table } from './components/table.tsx';
import { save, toCsv } from './csv.ts';
import type { MessageName } from './messages.ts';
import { lastDays, spread } from './periods.ts';
import { useResource } from './resource.ts';
import { hrefWith, navigate, query } from './router.ts';
import { workspace } from './state.ts';
import { formatMilliseconds, formatMoney, formatNumber, t } from './text.ts';

type Usage = Schemas['ModelUsage'];
type Row = Usage['items'][number];

const GROUPINGS = ['model', 'target', 'key', 'endpoint', 'outcome', 'day'] as const;
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

const nameOf = ({ group, key }: Row): string =>
  key === undefined ? group : key === null ? t('usage.no-key') : `${key.name} (${key.prefix}…)`;

/** Calls of models: what they cost by day, and what they were, told apart by one thing. */
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
              onValue={(by) => navigate(hrefWith({ by }))}
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
            rows={rows}
            keyOf={({ group }) => group}
            columns={columnsOf(grouping)}
          />
        )}
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
      latency: [{ label: t('usage.latency'), values: daily((row) => row.latency_ms ?? 0) }],
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
        title={t('usage.latency')}
        total={formatMilliseconds(total.latency_ms)}
        times={times}
        series={values.latency}
      />
    </div>
  );
}

const columnsOf = (grouping: Grouping): Column<Row>[] => [
  { title: t(`usage.by.${grouping}` as MessageName), cell: (row) => <span class="name">{nameOf(row)}</span> },
  { title: t('usage.requests'), kind: 'number', cell: ({ requests }) => formatNumber(requests) },
  { title: t('usage.prompt'), kind: 'number', cell: (row) => formatNumber(row.prompt_tokens) },
  { title: t('usage.completion'), kind: 'number', cell: (row) => formatNumber(row.completion_tokens) },
  { title: t('home.spend'), kind: 'number', cell: ({ cost }) => formatMoney(cost) },
  { title: t('usage.latency'), kind: 'number', cell: (row) => formatMilliseconds(row.latency_ms) },
  { title: t('usage.first'), kind: 'number', cell: (row) => formatMilliseconds(row.first_event_ms) },
];

const renderCsv = (grouping: Grouping, rows: readonly Row[]): string =>
  toCsv([
    [grouping, 'requests', 'prompt_tokens', 'completion_tokens', 'cost', 'latency_ms', 'first_event_ms'],
    ...rows.map((row) => [
      nameOf(row),
      row.requests,
      row.prompt_tokens,
      row.completion_tokens,
      row.cost,
      row.latency_ms,
      row.first_event_ms,
    ]),
  ]);
