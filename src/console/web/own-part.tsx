import { useMemo } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Chips } from './components/badge.tsx';
import { Chart } from './components/chart.tsx';
import { ErrorNotice, Loading } from './components/notice.tsx';
import { Figures, Page, Section } from './components/page.tsx';
import { Table } from './components/table.tsx';
import { Time } from './components/time.tsx';
import { lastDays, spread } from './periods.ts';
import { useResource } from './resource.ts';
import { formatMilliseconds, formatMoney, formatNumber, t } from './text.ts';

const DAYS = 30;
const REFRESH_MS = 10_000;

type Me = Schemas['Me'];
type Usage = Schemas['ModelUsage'];

const readOwnUsage = (from: number, groupBy: 'day' | 'model'): Promise<Usage> =>
  answerOf(
    api.GET('/admin/call/v1/me/usage', {
      params: { query: { from: new Date(from).toISOString(), group_by: groupBy } },
    }),
  );

async function readOwnPart() {
  const days = lastDays(DAYS);
  const from = days[0] ?? 0;
  const [me, byDay, byModel] = await Promise.all([
    answerOf(api.GET('/admin/call/v1/me')),
    readOwnUsage(from, 'day'),
    readOwnUsage(from, 'model'),
  ]);
  return { me, days, byDay, byModel };
}

/** The first page of a person without administrative rights: their key, the remainders of its limits, and its use. */
export function OwnPart() {
  const own = useResource(readOwnPart, [], { everyMs: REFRESH_MS });
  return (
    <Page title={t('page.home')} about={t('own.about')}>
      <ErrorNotice error={own.error} retry={own.reload} />
      {own.data === undefined ? (
        own.loading && <Loading />
      ) : (
        <>
          <KeyFacts me={own.data.me} />
          <OwnUsage days={own.data.days} byDay={own.data.byDay} byModel={own.data.byModel} />
        </>
      )}
    </Page>
  );
}

const KeyFacts = ({ me: { key, user, limits, remaining } }: { me: Me }) => (
  <Section title={t('own.key')}>
    <dl class="facts">
      <dt>{t('keys.name')}</dt>
      <dd>
        <span class="name">{key.name}</span> <code class="soft">{key.prefix}…</code>
      </dd>
      <dt>{t('keys.person')}</dt>
      <dd class="name">{user?.email ?? '–'}</dd>
      <dt>{t('keys.scopes')}</dt>
      <dd>
        <Chips words={key.scopes} />
      </dd>
      <dt>{t('keys.expires')}</dt>
      <dd>
        <Time at={key.expires_at} />
      </dd>
    </dl>
    <div class="columns">
      <Left
        name={t('keys.requests')}
        limit={limits.requests_per_minute}
        left={remaining.requests_per_minute}
      />
      <Left name={t('keys.tokens')} limit={limits.tokens_per_minute} left={remaining.tokens_per_minute} />
      <Left name={t('keys.budget')} limit={limits.budget_per_month} left={remaining.budget_per_month} />
    </div>
  </Section>
);

type LeftProps = { name: string; limit: number | null; left: Me['remaining']['budget_per_month'] };

const Left = ({ name, limit, left }: LeftProps) => (
  <div class="chart">
    <h3>{name}</h3>
    {limit === null || left === null ? (
      <p class="soft">{t('own.unlimited')}</p>
    ) : (
      <>
        <p>{t('own.left', { left: formatNumber(left.remaining), limit: formatNumber(limit) })}</p>
        <progress value={Math.max(0, left.remaining)} max={limit} aria-label={name} />
        <p class="soft small">
          {t('own.resets')} <Time at={left.resets_at} relative />
        </p>
      </>
    )}
  </div>
);

function OwnUsage({ days, byDay, byModel }: { days: readonly number[]; byDay: Usage; byModel: Usage }) {
  const series = useMemo(
    () => [
      {
        label: t('home.requests'),
        values: spread(
          days,
          byDay.items,
          ({ group }) => group,
          ({ requests }) => requests,
        ),
      },
    ],
    [days, byDay],
  );
  return (
    <Section title={t('home.days')}>
      <Figures
        figures={[
          { name: t('usage.requests'), value: formatNumber(byDay.total.requests) },
          { name: t('usage.tokens'), value: formatNumber(byDay.total.total_tokens) },
          { name: t('home.spend'), value: formatMoney(byDay.total.cost) },
        ]}
      />
      <Chart title={t('home.requests')} times={days} series={series} />
      <Table
        caption={t('own.models')}
        rows={byModel.items}
        keyOf={({ group }) => group}
        columns={[
          { title: t('playground.model'), cell: ({ group }) => <code>{group}</code> },
          { title: t('usage.requests'), kind: 'number', cell: ({ requests }) => formatNumber(requests) },
          { title: t('usage.tokens'), kind: 'number', cell: (row) => formatNumber(row.total_tokens) },
          { title: t('home.spend'), kind: 'number', cell: ({ cost }) => formatMoney(cost) },
          { title: t('usage.latency'), kind: 'number', cell: (row) => formatMilliseconds(row.latency_ms) },
        ]}
      />
    </Section>
  );
}
