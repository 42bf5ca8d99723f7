import { useState } from 'preact/hooks';
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
  const channel = query.value.get('channel') ?? '';
  const open = Number(query.value.get('session') ?? Number.NaN);
  const sessions = useResource(
    () =>
      answerOf(
        api.GET('/admin/call/api/v1/chat/sessions/{workspace_id}', {
          params: { path: { workspace_id: workspace.value }, query: { cursor: cursor ?? '', channel } },
        }),
      ),
    [workspace.value, cursor, channel],
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
      <div class="row spread">
        <ChannelFilter key={channel} present={channel} />
        <Button busy={sessions.loading} onClick={sessions.reload}>
          {t('action.refresh')}
        </Button>
      </div>
      {items.length === 0 ? (
        <Empty title={t(channel === '' ? 'conversations.none' : 'conversations.none.channel')}>
          {channel === '' ? t('conversations.none.about') : null}
        </Empty>
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
                <>
                  <a class="name short" href={hrefWith({ channel: row.channel, cursor: undefined })}>
                    {row.channel}
                  </a>
                  <div class="soft small">
                    <span class="name">{`${row.channel_plugin} / ${row.channel_id}`}</span>
                  </div>
                </>
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

/** The channel stands in the URL; a row's channel is a link to its view. */
function ChannelFilter({ present }: { present: string }) {
  const [channel, setChannel] = useState(present);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        navigate(hrefWith({ channel: channel.trim(), cursor: undefined }));
      }}
    >
      <input
        type="search"
        class="narrow"
        aria-label={t('conversations.channel')}
        placeholder={t('conversations.channel')}
        value={channel}
        onInput={(event) => setChannel(event.currentTarget.value)}
      />
      <Button type="submit">{t('audit.filter')}</Button>
      {present === '' ? null : (
        <a href={hrefWith({ channel: undefined, cursor: undefined })}>{t('library.filter.clear')}</a>
      )}
    </form>
  );
}

const SessionLink = ({ of: row }: { of: Session }) => (
  <a class="name" href={hrefWith({ session: String(row.chat_session_id) })}>
    {row.title ?? t('conversations.untitled', { id: row.chat_session_id })}
  </a>
);
