import { Select } from '../components/field.tsx';
import { Notice } from '../components/notice.tsx';
import { Page, Tabs } from '../components/page.tsx';
import { PERIODS, readPeriod } from '../periods.ts';
import { hrefOf, hrefWith, navigate, query } from '../router.ts';
import { hasScope, isOwnWorkspace, workspace } from '../state.ts';
import { t } from '../text.ts';
import { EventUsage } from '../usage-events.tsx';
import { ModelUsage } from '../usage-models.tsx';

export default function Usage() {
  const view = query.value.get('view') === 'events' ? 'events' : 'models';
  const days = readPeriod();
  const keep = {
    days: query.value.get('days') ?? undefined,
    workspace: query.value.get('workspace') ?? undefined,
  };
  const period = (
    <Select
      label={t('usage.period')}
      value={String(days)}
      onValue={(value) => navigate(hrefWith({ days: value }))}
      choices={PERIODS.map((value) => ({ value: String(value), label: t('usage.days', { count: value }) }))}
    />
  );
  return (
    <Page title={t('page.usage')} about={t('usage.about')} actions={period}>
      <Tabs
        label={t('library.views')}
        tabs={[
          { href: hrefOf('usage', keep), label: t('page.models'), current: view === 'models' },
          {
            href: hrefOf('usage', { ...keep, view: 'events' }),
            label: t('page.events'),
            current: view === 'events',
          },
        ]}
      />
      {view === 'models' ? <ModelUsage days={days} /> : <Events days={days} />}
    </Page>
  );
}

function Events({ days }: { days: number }) {
  if (!isOwnWorkspace.value) return <Notice title={t('workspace.key', { workspace: workspace.value })} />;
  if (!hasScope('metrics')) return <Notice title={t('usage.scope', { scope: 'metrics' })} />;
  return <EventUsage days={days} />;
}
