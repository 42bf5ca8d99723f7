import { BotDialog, deleteBot, listBots, readBot, webhookOf } from '../bot-dialog.tsx';
import { hrefOfRow, RegisteredList } from '../registered-list.tsx';
import { t } from '../text.ts';

export default () => (
  <RegisteredList
    kind="bot"
    texts={{
      title: 'page.bots',
      about: 'bots.about',
      add: 'bots.add',
      none: 'bots.none',
      deleteTitle: 'bots.delete.title',
      deleteText: 'bots.delete.text',
    }}
    list={listBots}
    read={readBot}
    remove={deleteBot}
    nameOf={({ id }) => id}
    dialog={BotDialog}
    columns={[
      {
        title: t('bots.id'),
        cell: ({ id }) => (
          <a class="name" href={hrefOfRow('bot', id)}>
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
    ]}
  />
);
