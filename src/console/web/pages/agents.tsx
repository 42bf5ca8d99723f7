import { useState } from 'preact/hooks';
import { AgentDialog, deleteAgent, readAgent } from '../agent-dialog.tsx';
import { answerOf, api, type Schemas } from '../api.ts';
import { Badge } from '../components/badge.tsx';
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

type Agent = Schemas['AgentRead'];

const NEW = 'new';
const ID = 'id:';

export default function Agents() {
  const cursor = query.value.get('cursor');
  const open = query.value.get('agent');
  const agents = useResource(
    () =>
      answerOf(
        api.GET('/admin/api/workspaces/{workspace_id}/agents', {
          params: { path: { workspace_id: workspace.value }, query: { cursor: cursor ?? '' } },
        }),
      ),
    [workspace.value, cursor],
  );
  const [deleting, setDeleting] = useState<Agent>();
  const show = (agent: string | undefined): void => navigate(hrefWith({ agent }));
  // Also one that is not on this page of the list has an address.
  const id = open?.startsWith(ID) ? open.slice(ID.length) : undefined;
  const opened = useResource(
    async () => (id === undefined ? undefined : readAgent(id)),
    [workspace.value, id],
  );
  const add = (
    <Button look="primary" onClick={() => show(NEW)}>
      {t('agents.add')}
    </Button>
  );
  return (
    <Page title={t('page.agents')} about={t('agents.about')} actions={add}>
      <PagedTable
        of={agents}
        cursor={cursor}
        empty={<Empty title={t('agents.none')}>{add}</Empty>}
        caption={t('page.agents')}
        keyOf={({ id }) => id}
        columns={[
          { title: t('agents.name'), cell: (row) => <AgentName of={row} /> },
          { title: t('agents.kind'), cell: ({ kind }) => t(`agents.kind.${kind}`) },
          {
            title: t('playground.model'),
            cell: ({ kind, model }) => (kind === 'bot' ? '–' : (model ?? t('agents.default-model'))),
          },
          { title: t('agents.knowledge'), cell: ({ knowledge }) => t(`agents.knowledge.${knowledge}`) },
          { title: t('agents.changed'), cell: ({ updated_at: at }) => <Time at={at} relative /> },
          {
            title: '',
            kind: 'actions',
            cell: (agent) => (
              <Button look="plain danger" onClick={() => setDeleting(agent)}>
                {t('action.delete')}
              </Button>
            ),
          },
        ]}
      />
      {open === NEW ? <AgentDialog onClose={() => show(undefined)} onSaved={agents.reload} /> : null}
      <ErrorNotice error={opened.error} />
      {opened.data === undefined || opened.data.id !== id ? null : (
        <AgentDialog
          key={opened.data.id}
          agent={opened.data}
          onClose={() => show(undefined)}
          onSaved={agents.reload}
        />
      )}
      {deleting === undefined ? null : (
        <ConfirmDialog
          title={t('agents.delete.title', { name: deleting.name })}
          action={t('action.delete')}
          run={() => deleteAgent(deleting.id).then(agents.reload)}
          onClose={() => setDeleting(undefined)}
        >
          {t('agents.delete.text')}
        </ConfirmDialog>
      )}
    </Page>
  );
}

const AgentName = ({ of: { id, name, default: isDefault } }: { of: Agent }) => (
  <>
    <a class="name" href={hrefWith({ agent: `${ID}${id}` })}>
      {name}
    </a>{' '}
    {isDefault ? <Badge tone="good">{t('agents.default')}</Badge> : null}
    <div>
      <code class="soft">{id}</code>
    </div>
  </>
);
