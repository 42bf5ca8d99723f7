import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from '../api.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { Empty, ErrorNotice, Loading, Notice } from '../components/notice.tsx';
import { Page, Tabs } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { DeadLetters } from '../dead-letters.tsx';
import { useResource } from '../resource.ts';
import { hrefOf, hrefWith, query } from '../router.ts';
import { hasScope, isAdmin, isOwnWorkspace, workspace } from '../state.ts';
import { TestEvent } from '../test-event.tsx';
import { t } from '../text.ts';

const REFRESH_MS = 2000;
const ROWS = 50;

export default function Events() {
  const view = query.value.get('view') === 'dead' ? 'dead' : 'live';
  return (
    <Page
      title={t('page.events')}
      about={t('events.about')}
      actions={isOwnWorkspace.value && hasScope('metrics') ? <TestEvent /> : undefined}
    >
      <Tabs
        label={t('library.views')}
        tabs={[
          { href: hrefOf('events'), label: t('events.live'), current: view === 'live' },
          ...(isAdmin.value
            ? [
                {
                  href: hrefOf('events', { view: 'dead' }),
                  label: t('events.dead'),
                  current: view === 'dead',
                },
              ]
            : []),
        ]}
      />
      {view === 'live' ? <Live /> : <DeadLetters />}
    </Page>
  );
}

function Live() {
  if (!isOwnWorkspace.value) return <Notice title={t('workspace.key', { workspace: workspace.value })} />;
  if (!hasScope('metrics')) return <Notice title={t('usage.scope', { scope: 'metrics' })} />;
  return <LiveEvents />;
}

type Metrics = Schemas['MetricPage'];

/** The newest page, or the page that the URL names. */
const readPage = (cursor: string | null): Promise<Metrics> =>
  answerOf(
    api.GET('/admin/call/api/v1/workspace_metric/{workspace_id}/by_created_at', {
      params: {
        path: { workspace_id: workspace.value },
        query: { size: ROWS, ...(cursor === null ? { newest: true } : { cursor }) },
      },
    }),
  );

function LiveEvents() {
  const cursor = query.value.get('cursor');
  const [paused, setPaused] = useState(false);
  const following = cursor === null && !paused;
  const page = useResource(
    () => readPage(cursor),
    [workspace.value, cursor],
    following ? { everyMs: REFRESH_MS } : {},
  );
  if (page.data === undefined)
    return page.error === undefined ? <Loading /> : <ErrorNotice error={page.error} retry={page.reload} />;
  const rows = [...page.data.items].reverse();
  return (
    <div class="stack">
      <div class="row spread">
        <span class="soft" role="status">
          {t(following ? 'events.following' : 'events.paused')}
        </span>
        {cursor === null ? (
          <Button onClick={() => setPaused(!paused)}>{t(paused ? 'events.go-on' : 'events.pause')}</Button>
        ) : (
          <LinkButton href={hrefWith({ cursor: undefined })}>{t('events.newest')}</LinkButton>
        )}
      </div>
      <ErrorNotice error={page.error} />
      {rows.length === 0 ? (
        <Empty title={t('events.none')} />
      ) : (
        <Table
          caption={t('events.live')}
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            { title: t('events.time'), cell: (row) => <Time at={row.created_at} /> },
            { title: t('usage.by.type'), cell: ({ type }) => <code>{type}</code> },
            {
              title: t('usage.by.subject'),
              cell: ({ subject }) => <span class="name">{subject || '–'}</span>,
            },
            { title: t('usage.by.source'), cell: ({ source }) => <span class="name">{source}</span> },
            { title: t('events.data'), cell: ({ data }) => <code class="name">{JSON.stringify(data)}</code> },
          ]}
        />
      )}
      {page.data.previous_page === null ? null : (
        <nav class="pager" aria-label={t('table.pages')}>
          <span />
          <LinkButton href={hrefWith({ cursor: page.data.previous_page })}>{t('table.older')}</LinkButton>
        </nav>
      )}
    </div>
  );
}
