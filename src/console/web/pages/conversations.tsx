import { answerOf, api, type Schemas } from '../api.ts';
import { Button } from '../components/button.tsx';
import { Empty, ErrorNotice, Loading, Notice } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { Pager, Table } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { ConversationDialog } from '../conversation-dialog.tsx';
import { useResource } from '../resource.ts';
import { hrefWith, navigate, query } from '../router.ts';
import { hasScope, isOwnWorkspace, workspace } from '../state.ts';
import { formatNumber, t } from '../text.ts';

type Session = Schemas['ChatSession'];

export default function Conversations() {
  return (
    <Page title={t('page.conversations')} about={t('conversations.about')}>
      <Content />
    </Page>
  );
}

function Content() {
  if (!isOwnWorkspace.value) return <Notice title={t('workspace.key', { workspace: workspace.value })} />;
  if (!hasScope('chat')) return <Notice title={t('usage.scope', { scope: 'chat' })} />;
  return <List />;
}

function List() {
  const cursor = query.value.get('cursor');
  const open = Number(query.value.get('session') ?? Number.NaN);
  const sessions = useResource(
    () =>
      answerOf(
        api.GET('/admin/call/api/v1/chat/sessions/{workspace_id}', {
          params: { path: { workspace_id: workspace.value }, query: { cursor: cursor ?? '' } },
        }),
      ),
    [workspace.value, cursor],
  );
  if (sessions.data === undefined)
    return sessions.error === undefined ? (
      <Loading />
    ) : (
      <ErrorNotice error={sessions.error} retry={sessions.reload} />
    );
  const { items, next_cursor: next } = sessions.data;
  const close = (): void => {
    navigate(hrefWith({ session: undefined }));
    sessions.reload();
  };
  return (
    <div class="stack">
      <div class="row">
        <Button busy={sessions.loading} onClick={sessions.reload}>
          {t('action.refresh')}
        </Button>
      </div>
      {items.length === 0 ? (
        <Empty title={t('conversations.none')}>{t('conversations.none.about')}</Empty>
      ) : (
        <Table
          caption={t('page.conversations')}
          rows={items}
          keyOf={(row) => String(row.chat_session_id)}
          columns={[
            { title: t('conversations.title'), cell: (row) => <SessionLink of={row} /> },
            {
              title: t('conversations.channel'),
              cell: (row) => (
                <span class="name">{`${row.channel} / ${row.channel_plugin} / ${row.channel_id}`}</span>
              ),
            },
            { title: t('keys.person'), cell: ({ user }) => <span class="name">{user}</span> },
            {
              title: t('conversations.messages'),
              kind: 'number',
              cell: (row) => formatNumber(row.message_count),
            },
            { title: t('conversations.last'), cell: (row) => <Time at={row.updated_at} relative /> },
          ]}
        />
      )}
      <Pager next={next} cursor={cursor} />
      {Number.isSafeInteger(open) ? <ConversationDialog id={open} onClose={close} /> : null}
    </div>
  );
}

const SessionLink = ({ of: row }: { of: Session }) => (
  <a class="name" href={hrefWith({ session: String(row.chat_session_id) })}>
    {row.title ?? t('conversations.untitled', { id: row.chat_session_id })}
  </a>
);
