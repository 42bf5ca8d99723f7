import { useState } from 'preact/hooks';
import { ModelChoice } from './agent-choices.tsx';
import { type Draft, toBody, toDraft } from './agent-draft.ts';
import { AgentTrial } from './agent-trial.tsx';
import { answerOf, api, type Schemas } from './api.ts';
import { Dialog } from './components/dialog.tsx';
import { CheckField, SelectField, TextField } from './components/field.tsx';
import { Form, FormButtons } from './components/form.tsx';
import { Notice } from './components/notice.tsx';
import { type RegisteredDialogProps, refuseTaken } from './registered-list.tsx';
import { useAction } from './resource.ts';
import { hasScope, isOwnWorkspace, workspace } from './state.ts';
import { t } from './text.ts';

type Agent = Schemas['AgentRead'];
type Kind = Agent['kind'];

const ITEM = '/admin/api/workspaces/{workspace_id}/agents/{agent_id}';
const pathOf = (id: string) => ({ path: { workspace_id: workspace.value, agent_id: id } });

export const listAgents = (workspaceId: string, cursor: string) =>
  answerOf(
    api.GET('/admin/api/workspaces/{workspace_id}/agents', {
      params: { path: { workspace_id: workspaceId }, query: { cursor } },
    }),
  );

export const readAgent = (id: string): Promise<Agent> => answerOf(api.GET(ITEM, { params: pathOf(id) }));

export const deleteAgent = (id: string) => answerOf(api.DELETE(ITEM, { params: pathOf(id) }));

/** The form of an agent, and beside it the place to try out what was saved. */
export function AgentDialog({ row: agent, wasSaved, onClose, onSaved }: RegisteredDialogProps<Agent>) {
  const [draft, setDraft] = useState(() => toDraft(agent));
  const [isSaved, setSaved] = useState(wasSaved);
  const saving = useAction();
  const save = async (): Promise<void> => {
    const id = draft.id.trim();
    if (agent === undefined) await refuseTaken(readAgent(id), 'agent_id', 'agents.taken');
    const row = await answerOf(api.PUT(ITEM, { params: pathOf(id), body: toBody(draft, agent) }));
    setSaved(true);
    onSaved(row);
  };
  const tries = isOwnWorkspace.value && hasScope('chat');
  return (
    <Dialog title={agent?.name ?? t('agents.add')} wide onClose={onClose}>
      <div class="columns">
        <Form acting={saving} run={save}>
          <AgentFields
            draft={draft}
            isNew={agent === undefined}
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
        {agent === undefined ? (
          <Notice title={t('agents.try.first')} />
        ) : tries ? (
          <AgentTrial id={agent.id} />
        ) : null}
      </div>
    </Dialog>
  );
}

type KnowledgeOnlyProps = {
  draft: Draft;
  set(changes: Partial<Draft>): void;
  mistakes: Readonly<Record<string, string>>;
};

const KnowledgeOnly = ({ draft, set, mistakes }: KnowledgeOnlyProps) => (
  <>
    <CheckField
      label={t('agents.knowledge-only')}
      hint={t('agents.knowledge-only.hint')}
      checked={draft.knowledgeOnly}
      onChecked={(knowledgeOnly) => set({ knowledgeOnly })}
    />
    {draft.knowledgeOnly ? (
      <TextField
        label={t('agents.not-found-text')}
        hint={t('agents.not-found-text.hint')}
        value={draft.notFoundText}
        onValue={(notFoundText) => set({ notFoundText })}
        mistake={mistakes['not_found_text']}
      />
    ) : null}
  </>
);

type FieldsProps = {
  draft: Draft;
  isNew: boolean;
  mistakes: Readonly<Record<string, string>>;
  onDraft(draft: Draft): void;
};

function AgentFields({ draft, isNew, mistakes, onDraft }: FieldsProps) {
  const set = (changes: Partial<Draft>): void => onDraft({ ...draft, ...changes });
  return (
    <>
      {isNew ? (
        <TextField
          label={t('agents.id')}
          hint={t('agents.id.hint')}
          value={draft.id}
          onValue={(id) => set({ id })}
          mistake={mistakes['agent_id']}
          mono
          required
          autofocus
        />
      ) : null}
      <TextField
        label={t('agents.name')}
        value={draft.name}
        onValue={(name) => set({ name })}
        mistake={mistakes['name']}
        required
      />
      <SelectField
        label={t('agents.kind')}
        hint={t(`agents.kind.${draft.kind}.about`)}
        value={draft.kind}
        onValue={(kind) => set({ kind: kind as Kind })}
        choices={(['persona', 'agent', 'bot'] as const).map((value) => ({
          value,
          label: t(`agents.kind.${value}`),
        }))}
      />
      {draft.kind === 'bot' ? (
        <TextField
          label={t('agents.replies')}
          hint={t('agents.replies.hint')}
          rows={6}
          value={draft.replies}
          onValue={(replies) => set({ replies })}
          mistake={mistakes['replies']}
        />
      ) : (
        <>
          <div class="form-row">
            <ModelChoice
              value={draft.model}
              onValue={(model) => set({ model })}
              mistake={mistakes['model']}
            />
            <TextField
              label={t('playground.temperature')}
              type="number"
              min={0}
              max={2}
              step="0.1"
              value={draft.temperature}
              onValue={(temperature) => set({ temperature })}
              mistake={mistakes['temperature']}
            />
          </div>
          <TextField
            label={t('playground.system')}
            rows={6}
            value={draft.instructions}
            onValue={(instructions) => set({ instructions })}
            mistake={mistakes['instructions']}
          />
          <CheckField
            label={t('agents.knowledge.documents')}
            hint={t('agents.knowledge.hint')}
            checked={draft.knowledge === 'documents'}
            onChecked={(on) => set({ knowledge: on ? 'documents' : 'none' })}
          />
          {draft.knowledge === 'documents' ? (
            <KnowledgeOnly draft={draft} set={set} mistakes={mistakes} />
          ) : null}
        </>
      )}
      <CheckField
        label={t('agents.default')}
        hint={t('agents.default.hint')}
        checked={draft.isDefault}
        onChecked={(isDefault) => set({ isDefault })}
      />
    </>
  );
}
