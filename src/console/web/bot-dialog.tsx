import { useState } from 'preact/hooks';
import { AgentChoice } from './agent-choices.tsx';
import { answerOf, api, type Schemas } from './api.ts';
import { BotTrial } from './bot-trial.tsx';
import { Copy } from './components/copy.tsx';
import { Dialog } from './components/dialog.tsx';
import { SelectField, TextField } from './components/field.tsx';
import { Form, FormButtons } from './components/form.tsx';
import { Notice } from './components/notice.tsx';
import { type RegisteredDialogProps, refuseTaken } from './registered-list.tsx';
import { useAction } from './resource.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';

type Bot = Schemas['BotRead'];
type Mode = Bot['verification']['mode'];

const ITEM = '/admin/api/workspaces/{workspace_id}/bots/{bot_id}';
const MODES: readonly Mode[] = ['project_number', 'endpoint_url', 'key'];
const pathOf = (id: string) => ({ path: { workspace_id: workspace.value, bot_id: id } });

export const listBots = (workspaceId: string, cursor: string) =>
  answerOf(
    api.GET('/admin/api/workspaces/{workspace_id}/bots', {
      params: { path: { workspace_id: workspaceId }, query: { cursor } },
    }),
  );

export const readBot = (id: string): Promise<Bot> => answerOf(api.GET(ITEM, { params: pathOf(id) }));

export const deleteBot = (id: string) => answerOf(api.DELETE(ITEM, { params: pathOf(id) }));

/** The address that the chat app calls. */
export const webhookOf = (id: string): string => `${location.origin}/chatapp/${workspace.value}/${id}`;

type Draft = { id: string; mode: Mode; audience: string; agent: string; welcome: string };

const toDraft = (bot: Bot | undefined): Draft => ({
  id: bot?.id ?? '',
  mode: bot?.verification.mode ?? 'project_number',
  audience: bot?.verification.audience ?? '',
  agent: bot?.agent_id ?? '',
  welcome: bot?.welcome_text ?? '',
});

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());

/** What the form does not show (commands, a key set, a service account) stays as it is. */
const toBody = (draft: Draft, bot: Bot | undefined): Schemas['BotPut'] => ({
  ...(bot === undefined ? {} : { commands: bot.commands }),
  verification: {
    ...(bot === undefined ? {} : { jwks: bot.verification.jwks }),
    ...(bot?.verification.service_account_email === undefined
      ? {}
      : { service_account_email: bot.verification.service_account_email }),
    mode: draft.mode,
    audience: draft.mode === 'key' ? null : orNull(draft.audience),
  },
  agent_id: orNull(draft.agent),
  welcome_text: orNull(draft.welcome),
});

/** The form of a bot, the steps to set it up with the chat app, and a test event. */
export function BotDialog({ row: bot, wasSaved, onClose, onSaved }: RegisteredDialogProps<Bot>) {
  const [draft, setDraft] = useState(() => toDraft(bot));
  const [isSaved, setSaved] = useState(wasSaved);
  const saving = useAction();
  const save = async (): Promise<void> => {
    const id = draft.id.trim();
    if (bot === undefined) await refuseTaken(readBot(id), 'bot_id', 'bots.taken');
    const row = await answerOf(api.PUT(ITEM, { params: pathOf(id), body: toBody(draft, bot) }));
    setSaved(true);
    onSaved(row);
  };
  return (
    <Dialog title={bot?.id ?? t('bots.add')} wide onClose={onClose}>
      <div class="columns">
        <Form acting={saving} run={save}>
          <BotFields
            draft={draft}
            isNew={bot === undefined}
            mistakes={saving.error?.fields ?? {}}
            onDraft={(changed) => {
              setDraft(changed);
              setSaved(false);
            }}
          />
          <FormButtons
            submit={t('action.save')}
            busy={saving.busy}
            isSaved={isSaved && !saving.busy && saving.error === undefined}
            close={t('action.close')}
            onClose={onClose}
          />
        </Form>
        <div class="stack">
          {bot === undefined ? (
            <Notice title={t('bots.first')} />
          ) : (
            <>
              <SetUp id={bot.id} mode={draft.mode} />
              <BotTrial id={bot.id} keyAlone={draft.mode === 'key'} />
            </>
          )}
        </div>
      </div>
    </Dialog>
  );
}

type FieldsProps = {
  draft: Draft;
  isNew: boolean;
  mistakes: Readonly<Record<string, string>>;
  onDraft(draft: Draft): void;
};

function BotFields({ draft, isNew, mistakes, onDraft }: FieldsProps) {
  const set = (changes: Partial<Draft>): void => onDraft({ ...draft, ...changes });
  return (
    <>
      {isNew ? (
        <TextField
          label={t('bots.id')}
          hint={t('bots.id.hint')}
          value={draft.id}
          onValue={(id) => set({ id })}
          mistake={mistakes['bot_id']}
          mono
          required
          autofocus
        />
      ) : null}
      <SelectField
        label={t('bots.proof')}
        hint={t(`bots.mode.${draft.mode}.about`)}
        value={draft.mode}
        onValue={(mode) => set({ mode: mode as Mode })}
        choices={MODES.map((value) => ({ value, label: t(`bots.mode.${value}`) }))}
      />
      {draft.mode === 'key' ? null : (
        <TextField
          label={t('bots.audience')}
          placeholder={draft.mode === 'endpoint_url' ? webhookOf(draft.id || 'bot') : '123456789012'}
          value={draft.audience}
          onValue={(audience) => set({ audience })}
          mistake={mistakes['audience']}
        />
      )}
      <AgentChoice value={draft.agent} onValue={(agent) => set({ agent })} mistake={mistakes['agent_id']} />
      <TextField
        label={t('bots.welcome')}
        rows={3}
        value={draft.welcome}
        onValue={(welcome) => set({ welcome })}
        mistake={mistakes['welcome_text']}
      />
    </>
  );
}

const SetUp = ({ id, mode }: { id: string; mode: Mode }) => (
  <section class="stack">
    <h3>{t('bots.steps')}</h3>
    <ol class="numbered">
      <li>{t('bots.step.app')}</li>
      <li>
        {t('bots.step.url')}
        <Copy text={webhookOf(id)} />
      </li>
      <li>{t(`bots.step.${mode}`)}</li>
      <li>{t('bots.step.test')}</li>
    </ol>
  </section>
);
