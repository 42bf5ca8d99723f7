import { AgentDialog, deleteAgent, listAgents, readAgent } from '../agent-dialog.tsx';
import type { Schemas } from '../api.ts';
import { Badge } from '../components/badge.tsx';
import { hrefOfRow, RegisteredList } from '../registered-list.tsx';
import { t } from '../text.ts';

export default () => (
  <RegisteredList
    kind="agent"
    texts={{
      title: 'page.agents',
      about: 'agents.about',
      add: 'agents.add',
      none: 'agents.none',
      deleteTitle: 'agents.delete.title',
      deleteText: 'agents.delete.text',
    }}
    list={listAgents}
    read={readAgent}
    remove={deleteAgent}
    nameOf={({ name }) => name}
    dialog={AgentDialog}
    columns={[
      { title: t('agents.name'), cell: (row) => <AgentName of={row} /> },
      { title: t('agents.kind'), cell: ({ kind }) => t(`agents.kind.${kind}`) },
      {
        title: t('playground.model'),
        cell: ({ kind, model }) => (kind === 'bot' ? '–' : (model ?? t('agents.default-model'))),
      },
      { title: t('agents.knowledge'), cell: ({ knowledge }) => t(`agents.knowledge.${knowledge}`) },
    ]}
  />
);

const AgentName = ({ of: { id, name, default: isDefault } }: { of: Schemas['AgentRead'] }) => (
  <>
    <a class="name" href={hrefOfRow('agent', id)}>
      {name}
    </a>{' '}
    {isDefault ? <Badge tone="good">{t('agents.default')}</Badge> : null}
    <div>
      <code class="soft">{id}</code>
    </div>
  </>
);
