import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from '../api.ts';
import { Badge } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { ConfirmDialog } from '../components/confirm.tsx';
import { Empty } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { PagedTable } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { signOut } from '../frame.tsx';
import { useResource } from '../resource.ts';
import { query } from '../router.ts';
import { workspace } from '../state.ts';
import { t } from '../text.ts';

type PortalSession = Schemas['PortalSession'];

export default function Sessions() {
  const cursor = query.value.get('cursor');
  const sessions = useResource(
    () =>
      answerOf(
        api.GET('/admin/api/workspaces/{workspace_id}/sessions', {
          params: { path: { workspace_id: workspace.value }, query: { cursor: cursor ?? '' } },
        }),
      ),
    [workspace.value, cursor],
  );
  const [ending, setEnding] = useState<PortalSession>();
  const end = async (session: PortalSession): Promise<void> => {
    if (session.current) return signOut();
    const path = { workspace_id: workspace.value, session_id: session.id };
    await answerOf(
      api.DELETE('/admin/api/workspaces/{workspace_id}/sessions/{session_id}', { params: { path } }),
    );
    sessions.reload();
  };
  return (
    <Page title={t('page.sessions')} about={t('sessions.about')}>
      <PagedTable
        of={sessions}
        cursor={cursor}
        empty={<Empty title={t('sessions.none')} />}
        caption={t('page.sessions')}
        keyOf={({ id }) => id}
        columns={[
          {
            title: t('sessions.person'),
            cell: (row) => (
              <>
                <span class="name">{row.user_email}</span>{' '}
                {row.current ? <Badge tone="good">{t('sessions.current')}</Badge> : null}
              </>
            ),
          },
          {
            title: t('sessions.way'),
            cell: (row) => (
              <>
                {t(`sessions.way.${row.provider}`)} <span class="name soft">{row.key_name}</span>
              </>
            ),
          },
          {
            title: t('sessions.browser'),
            cell: ({ user_agent: agent }) => (
              <span class="name short" title={agent ?? ''}>
                {agent === null ? '–' : browserOf(agent)}
              </span>
            ),
          },
          { title: t('sessions.since'), cell: (row) => <Time at={row.created_at} relative /> },
          { title: t('sessions.until'), cell: (row) => <Time at={row.expires_at} /> },
          {
            title: '',
            kind: 'actions',
            cell: (row) => (
              <Button look="plain danger" onClick={() => setEnding(row)}>
                {t('sessions.end')}
              </Button>
            ),
          },
        ]}
      />
      {ending === undefined ? null : (
        <ConfirmDialog
          title={t('sessions.end.title', { email: ending.user_email })}
          action={t('sessions.end')}
          run={() => end(ending)}
          onClose={() => setEnding(undefined)}
        >
          {t(ending.current ? 'sessions.end.own' : 'sessions.end.text')}
        </ConfirmDialog>
      )}
    </Page>
  );
}

/** What stands before a browser's version. Later ones stand also in the names of earlier ones. */
const BROWSERS: Record<string, string> = {
  Edg: 'Edge',
  OPR: 'Opera',
  Firefox: 'Firefox',
  Chrome: 'Chrome',
  Version: 'Safari',
};

/** “Firefox 145, Linux” of a browser's long name for itself; the whole where it has another form. */
function browserOf(agent: string): string {
  const name = Object.keys(BROWSERS).find((each) => agent.includes(`${each}/`));
  const [system] = /Windows|Android|iPhone|iPad|Mac OS|Linux/.exec(agent) ?? [];
  if (name === undefined) return agent;
  const version = Number.parseInt(agent.slice(agent.indexOf(`${name}/`) + name.length + 1), 10);
  return [`${BROWSERS[name]} ${version}`, ...(system === undefined ? [] : [system])].join(', ');
}
