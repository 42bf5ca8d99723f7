import { useState } from 'preact/hooks';
import { answerOf, api } from './api.ts';
import { Button } from './components/button.tsx';
import { ConfirmDialog } from './components/confirm.tsx';
import { Empty, ErrorNotice, Loading } from './components/notice.tsx';
import { Pager, Table } from './components/table.tsx';
import { Time } from './components/time.tsx';
import { useAction, useResource } from './resource.ts';
import { query } from './router.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';

const DEAD = '/admin/api/workspaces/{workspace_id}/dead-letters';

/** Events that the database refused, with the reason, and the way to send them again. */
export function DeadLetters() {
  const cursor = query.value.get('cursor');
  const letters = useResource(
    () =>
      answerOf(
        api.GET(DEAD, {
          params: { path: { workspace_id: workspace.value }, query: { cursor: cursor ?? '' } },
        }),
      ),
    [workspace.value, cursor],
  );
  const [purging, setPurging] = useState<string>();
  const acting = useAction();
  const params = { path: { workspace_id: workspace.value } };
  const replay = (ids?: string[]) =>
    answerOf(api.POST(`${DEAD}/replay`, { params, body: ids === undefined ? {} : { ids } })).then(
      letters.reload,
    );
  const purge = (id: string) =>
    answerOf(api.DELETE(DEAD, { params, body: { ids: [id] } })).then(letters.reload);
  if (letters.data === undefined)
    return letters.error === undefined ? (
      <Loading />
    ) : (
      <ErrorNotice error={letters.error} retry={letters.reload} />
    );
  if (letters.data.items.length === 0) return <Empty title={t('events.dead.none')} />;
  return (
    <div class="stack">
      <div class="row spread">
        <span class="soft">{t('events.dead.about')}</span>
        <Button busy={acting.busy} onClick={() => acting.run(() => replay())}>
          {t('events.replay-all')}
        </Button>
      </div>
      <ErrorNotice error={acting.error} />
      <Table
        caption={t('events.dead')}
        rows={letters.data.items}
        keyOf={({ id }) => id}
        columns={[
          { title: t('events.time'), cell: (row) => <Time at={row.created_at} /> },
          { title: t('events.reason'), cell: ({ reason }) => <span class="anywhere">{reason}</span> },
          { title: t('usage.by.type'), cell: ({ event }) => <code>{event.type}</code> },
          { title: t('events.data'), cell: ({ event }) => <code class="name">{event.data}</code> },
          {
            title: '',
            kind: 'actions',
            cell: ({ id }) => (
              <>
                <Button look="plain" onClick={() => acting.run(() => replay([id]))}>
                  {t('events.replay')}
                </Button>
                <Button look="plain danger" onClick={() => setPurging(id)}>
                  {t('action.delete')}
                </Button>
              </>
            ),
          },
        ]}
      />
      <Pager next={letters.data.next_cursor} cursor={cursor} />
      {purging === undefined ? null : (
        <ConfirmDialog
          title={t('events.purge.title')}
          action={t('action.delete')}
          run={() => purge(purging)}
          onClose={() => setPurging(undefined)}
        >
          {t('events.purge.text')}
        </ConfirmDialog>
      )}
    </div>
  );
}
