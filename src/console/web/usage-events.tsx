import { useMemo } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Button } from './components/button.tsx';
import { Chart } from './components/chart.tsx';
import { Select } from './components/field.tsx';
import { Empty, ErrorNotice, Loading } from './components/notice.tsx';
import { Section } from './components/page.tsx';
import { Pager, Table } from './components/table.tsx';
import { save, toCsv } from './csv.ts';
import type { MessageName } from './messages.ts';
import { lastDays, spread, toBound } from './periods.ts';
import { useResource } from './resource.ts';
import { hrefWith, navigate, query } from './router.ts';
import { workspace } from './state.ts';
import { formatNumber, t } from './text.ts';

type Summary = Schemas['MetricSummary'];

const GROUPINGS = ['type', 'subject', 'source', 'day'] as const;
type Grouping = (typeof GROUPINGS)[number];
const DAYS_MAX = 366;

type Wanted = { from: number; type: string; groupBy: Grouping; cursor?: string | undefined; size?: number };

const readSummary = ({ from, type, groupBy, cursor, size = 50 }: Wanted): Promise<Summary> =>
  answerOf(
    api.GET('/admin/call/api/v1/workspace_metric/{workspace_id}/summary', {
      params: {
        path: { workspace_id: workspace.value },
        query: {
          from_date: toBound(from),
          group_by: groupBy,
          size,
          ...(type === '' ? {} : { type }),
          ...(cursor === undefined ? {} : { cursor }),
        },
      },
    }),
  );

/** Usage events in sums: by day, and grouped by one property. A click on a type shows only it and the types below it. */
export function EventUsage({ days }: { days: number }) {
  const grouping = GROUPINGS.find((each) => each === query.value.get('by')) ?? 'type';
  const type = query.value.get('type') ?? '';
  const cursor = query.value.get('cursor') ?? undefined;
  const usage = useResource(async () => {
    const times = lastDays(days);
    const wanted = { from: times[0] ?? 0, type };
    const [byDay, byGroup] = await Promise.all([
      readSummary({ ...wanted, groupBy: 'day', size: DAYS_MAX }),
      readSummary({ ...wanted, groupBy: grouping, cursor }),
    ]);
    return { times, byDay, byGroup };
  }, [workspace.value, days, grouping, type, cursor]);
  const series = useMemo(
    () =>
      usage.data === undefined
        ? []
        : [
            {
              label: t('home.events'),
              values: spread(
                usage.data.times,
                usage.data.byDay.items,
                ({ key }) => key,
                (row) => row.events,
              ),
            },
          ],
    [usage.data],
  );
  if (usage.data === undefined)
    return usage.error === undefined ? <Loading /> : <ErrorNotice error={usage.error} retry={usage.reload} />;
  const { times, byGroup } = usage.data;
  const csv = (): string =>
    toCsv([
      [grouping, 'events', 'value'],
      ...byGroup.items.map(({ key, events, value }) => [key, events, value]),
    ]);
  return (
    <>
      <Chart
        title={type === '' ? t('home.events') : type}
        total={formatNumber(byGroup.total.events)}
        times={times}
        series={series}
      />
      <Section
        title={t('usage.table')}
        aside={
          <>
            {type === '' ? null : (
              <a href={hrefWith({ type: undefined, cursor: undefined })}>{t('usage.all-types')}</a>
            )}
            <Select
              label={t('usage.by')}
              value={grouping}
              onValue={(by) => navigate(hrefWith({ by, cursor: undefined }))}
              choices={GROUPINGS.map((value) => ({ value, label: t(`usage.by.${value}` as MessageName) }))}
            />
            <Button onClick={() => save(`events-by-${grouping}.csv`, csv(), 'text/csv')}>CSV</Button>
          </>
        }
      >
        {byGroup.items.length === 0 ? (
          <Empty title={t('usage.none')} />
        ) : (
          <Table
            caption={t('usage.table')}
            rows={byGroup.items}
            keyOf={({ key }) => key}
            columns={[
              {
                title: t(`usage.by.${grouping}` as MessageName),
                cell: ({ key }) =>
                  grouping === 'type' ? (
                    <a class="name" href={hrefWith({ type: key, by: 'subject', cursor: undefined })}>
                      {key}
                    </a>
                  ) : (
                    <span class="name">{key || t('usage.nobody')}</span>
                  ),
              },
              { title: t('usage.events'), kind: 'number', cell: ({ events }) => formatNumber(events) },
              { title: t('usage.value'), kind: 'number', cell: ({ value }) => formatNumber(value) },
            ]}
          />
        )}
        <Pager next={byGroup.next_page} cursor={cursor ?? null} />
      </Section>
    </>
  );
}
