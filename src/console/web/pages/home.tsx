import { useMemo } from 'preact/hooks';
import { Chart } from '../components/chart.tsx';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { Page, Section } from '../components/page.tsx';
import { FirstSteps } from '../first-steps.tsx';
import { type Overview, readOverview } from '../home-data.ts';
import { OwnPart } from '../own-part.tsx';
import { spread } from '../periods.ts';
import { useResource } from '../resource.ts';
import { hrefOf, query } from '../router.ts';
import { isAdmin, workspace } from '../state.ts';
import { formatBytes, formatMoney, formatNumber, t } from '../text.ts';

const REFRESH_MS = 30_000;

export default function Home() {
  return isAdmin.value ? <WorkspaceHome /> : <OwnPart />;
}

function WorkspaceHome() {
  const overview = useResource(readOverview, [workspace.value], { everyMs: REFRESH_MS });
  return (
    <Page title={t('page.home')} about={t('home.about', { workspace: workspace.value })}>
      <ErrorNotice error={overview.error} retry={overview.reload} />
      {overview.data === undefined ? (
        overview.loading && <Loading />
      ) : (
        <>
          <Attention health={overview.data.health} />
          <FirstSteps overview={overview.data} onDone={overview.reload} />
          <Charts overview={overview.data} />
        </>
      )}
    </Page>
  );
}

/** What does not work as it should, before everything else. */
function Attention({ health }: { health: Overview['health'] }) {
  const troubled = Object.entries(health.services).filter(([, { state }]) => state !== 'ready');
  if (troubled.length === 0) return null;
  return (
    <div class={`notice ${health.status === 'unavailable' ? 'bad' : 'warn'}`} role="status">
      <div class="notice-title">{t('home.attention')}</div>
      <ul>
        {troubled.map(([name, { detail }]) => (
          <li key={name}>
            <code>{name}</code>: {detail ?? t('health.down')}
          </li>
        ))}
      </ul>
      <a href={hrefOf('health')}>{t('page.health')}</a>
    </div>
  );
}

function Charts({ overview: { days, usage, events, trends } }: { overview: Overview }) {
  const daily = (value: (row: (typeof usage.items)[number]) => number): number[] =>
    spread(days, usage.items, ({ group }) => group, value);
  const { storage, backlog } = trends;
  const keep = { workspace: query.value.get('workspace') ?? undefined };
  const waits = (backlog.at(-1)?.events ?? 0) + (backlog.at(-1)?.jobs ?? 0);
  const bytes = useMemo(() => {
    const values = spread<(typeof storage)[number], number | null>(
      days,
      storage,
      ({ at }) => at,
      (row) => row.bytes,
      null,
    );
    // A day on which the service did not run stored what the day before did.
    return values.map((value, at) => value ?? values.slice(0, at).findLast((each) => each !== null) ?? null);
  }, [days, storage]);
  return (
    <Section title={t('home.days')}>
      <div class="columns">
        <Chart
          title={t('home.requests')}
          href={hrefOf('usage', keep)}
          total={formatNumber(usage.total.requests)}
          times={days}
          series={[{ label: t('home.requests'), values: daily(({ requests }) => requests) }]}
        />
        <Chart
          title={t('home.errors')}
          href={hrefOf('usage', { ...keep, by: 'outcome' })}
          total={formatNumber(usage.total.errors)}
          times={days}
          series={[{ label: t('home.errors'), values: daily(({ errors }) => errors) }]}
        />
        <Chart
          title={t('home.spend')}
          href={hrefOf('usage', { ...keep, by: 'key' })}
          total={formatMoney(usage.total.cost)}
          times={days}
          series={[{ label: t('home.spend'), values: daily(({ cost }) => cost) }]}
        />
        {events === undefined ? null : (
          <Chart
            title={t('home.events')}
            href={hrefOf('usage', { ...keep, view: 'events' })}
            total={formatNumber(events.total.events)}
            times={days}
            series={[
              {
                label: t('home.events'),
                values: spread(
                  days,
                  events.items,
                  ({ key }) => key,
                  (row) => row.events,
                ),
              },
            ]}
          />
        )}
        <Chart
          title={t('home.storage')}
          href={hrefOf('library', keep)}
          total={t('home.storage.total', {
            bytes: formatBytes(storage.at(-1)?.bytes ?? 0),
            documents: formatNumber(storage.at(-1)?.documents ?? 0),
          })}
          times={days}
          format={formatBytes}
          series={[{ label: t('home.storage'), values: bytes }]}
        />
        <Chart
          title={t('home.backlog')}
          href={hrefOf('health', keep)}
          total={formatNumber(waits)}
          times={backlog.map(({ at }) => Date.parse(at))}
          series={[
            { label: t('home.backlog.events'), values: backlog.map(({ events: waiting }) => waiting) },
            { label: t('home.backlog.jobs'), values: backlog.map(({ jobs }) => jobs) },
          ]}
        />
      </div>
    </Section>
  );
}
