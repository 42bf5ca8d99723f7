import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from '../api.ts';
import { BotDialog, deleteBot, readBot, webhookOf } from '../bot-dialog.tsx';
import { Button } from '../components/button.tsx';
import { ConfirmDialog } from '../components/confirm.tsx';
import { Empty, ErrorNotice } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { PagedTable } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { useResource } from '../resource.ts';
import { hrefWith, navigate, query } from '../router.ts';
import { workspace } from '../state.ts';
import { t } from '../text.ts';

type Bot = Schemas['BotRead'];

const NEW = 'new';
const ID = 'id:';

export default function Bots() {
  const cursor = query.value.get('cursor');
  const open = query.value.get('bot');
  const bots = useResource(
    () =>
      answerOf(
        api.GET('/admin/api/workspaces/{workspace_id}/bots', {
          params: { path: { workspace_id: workspace.value }, query: { cursor: cursor ?? '' } },
        }),
      ),
    [workspace.value, cursor],
  );
  const [deleting, setDeleting] = useState<Bot>();
  const show = (bot: string | undefined): void => navigate(hrefWith({ bot }));
  // Also one that is not on this page of the list has an address.
  const id = open?.startsWith(ID) ? open.slice(ID.length) : undefined;
  const opened = useResource(async () => (id === undefined ? undefined : readBot(id)), [workspace.value, id]);
  const add = (
    <Button look="primary" onClick={() => show(NEW)}>
      {t('bots.add')}
    </Button>
  );
  return (
    <Page title={t('page.bots')} about={t('bots.about')} actions={add}>
      <PagedTable
        of={bots}
        cursor={cursor}
        empty={<Empty title={t('bots.none')}>{add}</Empty>}
        caption={t('page.bots')}
        keyOf={({ id }) => id}
        columns={[
          {
            title: t('bots.id'),
            cell: ({ id }) => (
              <a href={hrefWith({ bot: `${ID}${id}` })}>
                <code>{id}</code>
              </a>
            ),
          },
          { title: t('bots.webhook'), cell: ({ id }) => <code class="small">{webhookOf(id)}</code> },
          { title: t('bots.proof'), cell: ({ verification }) => t(`bots.mode.${verification.mode}`) },
          {
            title: t('bots.agent'),
            cell: ({ agent_id: agent }) => <span class="name">{agent ?? t('agents.default')}</span>,
          },
          { title: t('agents.changed'), cell: ({ updated_at: at }) => <Time at={at} relative /> },
          {
            title: '',
            kind: 'actions',
            cell: (bot) => (
              <Button look="plain danger" onClick={() => setDeleting(bot)}>
                {t('action.delete')}
              </Button>
            ),
          },
        ]}
      />
      {open === NEW ? <BotDialog onClose={() => show(undefined)} onSaved={bots.reload} /> : null}
      <ErrorNotice error={opened.error} />
      {opened.data === undefined || opened.data.id !== id ? null : (
        <BotDialog
          key={opened.data.id}
          bot={opened.data}
          onClose={() => show(undefined)}
          onSaved={bots.reload}
        />
      )}
      {deleting === undefined ? null : (
        <ConfirmDialog
          title={t('bots.delete.title', { id: deleting.id })}
          action={t('action.delete')}
          run={() => deleteBot(deleting.id).then(bots.reload)}
          onClose={() => setDeleting(undefined)}
        >
          {t('bots.delete.text')}
        </ConfirmDialog>
      )}
    </Page>
  );
}
