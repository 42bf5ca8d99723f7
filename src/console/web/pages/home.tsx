import { Chart } from '../components/chart.tsx';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { Page, Section } from '../components/page.tsx';
import { FirstSteps } from '../first-steps.tsx';
import { type Overview, readOverview } from '../home-data.ts';
import { OwnPart } from '../own-part.tsx';
import { spread } from '../periods.ts';
import { useResource } from '../resource.ts';
import { hrefOf } from '../router.ts';
import { isAdmin, workspace } from '../state.ts';
import { formatMoney, formatNumber, t } from '../text.ts';

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

function Charts({ overview: { days, usage, outcomes, events, documents } }: { overview: Overview }) {
  const failed = outcomes
    .filter(({ group }) => group !== 'ok')
    .reduce((sum, { requests }) => sum + requests, 0);
  const daily = (value: (row: (typeof usage.items)[number]) => number): number[] =>
    spread(days, usage.items, ({ group }) => group, value);
  return (
    <Section title={t('home.days')}>
      <div class="columns">
        <Chart
          title={t('home.requests')}
          total={formatNumber(usage.total.requests)}
          times={days}
          series={[{ label: t('home.requests'), values: daily(({ requests }) => requests) }]}
        />
        <Chart
          title={t('home.spend')}
          total={formatMoney(usage.total.cost)}
          times={days}
          series={[{ label: t('home.spend'), values: daily(({ cost }) => cost) }]}
        />
        <Chart
          title={t('home.tokens')}
          total={formatNumber(usage.total.total_tokens)}
          times={days}
          series={[{ label: t('home.tokens'), values: daily((row) => row.total_tokens) }]}
        />
        {events === undefined ? null : (
          <Chart
            title={t('home.events')}
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
      </div>
      <dl class="figures">
        <Figure name={t('home.failed')} value={formatNumber(failed)} />
        {documents == null ? null : <Figure name={t('home.documents')} value={formatNumber(documents)} />}
      </dl>
    </Section>
  );
}

const Figure = ({ name, value }: { name: string; value: string }) => (
  <div class="figure">
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);
