// Making a key and replacing one. The text of a key is shown once.

import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from './api.ts';
import { Button } from './components/button.tsx';
import { Copy } from './components/copy.tsx';
import { Dialog } from './components/dialog.tsx';
import { CheckField, SelectField, TextField } from './components/field.tsx';
import { Form, FormButtons } from './components/form.tsx';
import { ErrorNotice, Notice } from './components/notice.tsx';
import type { MessageName } from './messages.ts';
import { useAction } from './resource.ts';
import { isOperator, type Scope, workspace } from './state.ts';
import { t } from './text.ts';

type Made = { onClose(): void; onMade(text: string): void };
type KeyCreate = Schemas['KeyCreate'];

const SCOPES: readonly Scope[] = [
  'documents:read',
  'documents:write',
  'models',
  'chat',
  'bots',
  'metrics',
  'admin',
  'operator',
];

const DAY_MS = 86_400_000;
const EXPIRIES = ['never', '7', '30', '90', '365'] as const;

const toExpiry = (days: string): string | null =>
  days === 'never' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString();

/** Undefined where the field is empty; the service refuses a text that is no number. */
const toLimit = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text));

type Draft = {
  name: string;
  email: string;
  expiry: string;
  requests: string;
  tokens: string;
  budget: string;
};
const EMPTY: Draft = { name: '', email: '', expiry: 'never', requests: '', tokens: '', budget: '' };

const toBody = (draft: Draft, scopes: readonly Scope[]): KeyCreate => {
  const [requests, tokens, budget] = [draft.requests, draft.tokens, draft.budget].map(toLimit);
  return {
    name: draft.name,
    scopes: [...scopes],
    expires_at: toExpiry(draft.expiry),
    ...(draft.email.trim() === '' ? {} : { user_email: draft.email.trim() }),
    limits: {
      ...(requests === undefined ? {} : { requests_per_minute: requests }),
      ...(tokens === undefined ? {} : { tokens_per_minute: tokens }),
      ...(budget === undefined ? {} : { budget_per_month: budget }),
    },
  };
};

/** `name`: what the key is called unless the person says otherwise. */
export function NewKeyDialog({ name = '', onClose, onMade }: Made & { name?: string }) {
  const [draft, setDraft] = useState({ ...EMPTY, name });
  const [scopes, setScopes] = useState<readonly Scope[]>(['documents:read', 'models']);
  const making = useAction();
  const fields = making.error?.fields ?? {};
  const set = (field: keyof Draft) => (value: string) => setDraft({ ...draft, [field]: value });
  const make = async (): Promise<void> => {
    const params = { path: { workspace_id: workspace.value } };
    const made = await answerOf(
      api.POST('/admin/api/workspaces/{workspace_id}/keys', { params, body: toBody(draft, scopes) }),
    );
    onMade(made.key);
  };
  return (
    <Dialog title={t('keys.create')} onClose={onClose}>
      <Form acting={making} run={make}>
        <TextField
          label={t('keys.name')}
          hint={t('keys.name.hint')}
          mistake={fields['name']}
          value={draft.name}
          onValue={set('name')}
          required
          autofocus
        />
        <ScopeFields scopes={scopes} onScopes={setScopes} mistake={fields['scopes']} />
        <div class="form-row">
          <TextField
            label={t('keys.person')}
            hint={t('keys.person.hint')}
            mistake={fields['user_email']}
            type="email"
            value={draft.email}
            onValue={set('email')}
          />
          <SelectField
            label={t('keys.expires')}
            value={draft.expiry}
            onValue={set('expiry')}
            choices={EXPIRIES.map((value) => ({ value, label: t(`keys.expiry.${value}`) }))}
          />
        </div>
        <fieldset class="fieldset">
          <legend>{t('keys.limits')}</legend>
          <span class="hint">{t('keys.limits.hint')}</span>
          <div class="form-row">
            <TextField
              label={t('keys.requests')}
              type="number"
              min={1}
              value={draft.requests}
              onValue={set('requests')}
              mistake={fields['requests_per_minute']}
            />
            <TextField
              label={t('keys.tokens')}
              type="number"
              min={1}
              value={draft.tokens}
              onValue={set('tokens')}
              mistake={fields['tokens_per_minute']}
            />
            <TextField
              label={t('keys.budget')}
              type="number"
              min={0}
              step="any"
              value={draft.budget}
              onValue={set('budget')}
              mistake={fields['budget_per_month']}
            />
          </div>
        </fieldset>
        <FormButtons
          submit={t('keys.create')}
          busy={making.busy}
          disabled={scopes.length === 0}
          onClose={onClose}
        />
      </Form>
    </Dialog>
  );
}

const ScopeFields = ({
  scopes,
  onScopes,
  mistake,
}: {
  scopes: readonly Scope[];
  onScopes(scopes: readonly Scope[]): void;
  mistake: string | undefined;
}) => (
  <fieldset class="fieldset">
    <legend>{t('keys.scopes')}</legend>
    {SCOPES.filter((scope) => scope !== 'operator' || isOperator.value).map((scope) => (
      <CheckField
        key={scope}
        label={<code>{scope}</code>}
        hint={t(`scope.${scope}` as MessageName)}
        checked={scopes.includes(scope)}
        onChecked={(checked) =>
          onScopes(checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
        }
      />
    ))}
    {mistake === undefined ? null : <span class="mistake">{mistake}</span>}
  </fieldset>
);

/** The one time that a key can be read. */
export const ShownKeyDialog = ({ text, onClose }: { text: string; onClose(): void }) => (
  <Dialog title={t('keys.made')} onClose={onClose}>
    <div class="form">
      <Notice tone="warn" title={t('keys.once')} />
      <Copy text={text} />
      <div class="actions">
        <Button look="primary" onClick={onClose}>
          {t('action.done')}
        </Button>
      </div>
    </div>
  </Dialog>
);

const GRACES = ['0', '3600', '86400', '604800'] as const;

type RotateProps = Made & { of: Pick<Schemas['KeyRead'], 'id' | 'name'>; isOwn: boolean };

export function RotateDialog({ of: { id, name }, isOwn, onClose, onMade }: RotateProps) {
  const [grace, setGrace] = useState<string>('3600');
  const rotating = useAction();
  const rotate = async (): Promise<void> => {
    const params = { path: { workspace_id: workspace.value, key_id: id } };
    const made = await answerOf(
      api.POST('/admin/api/workspaces/{workspace_id}/keys/{key_id}/rotate', {
        params,
        body: { grace_seconds: Number(grace) },
      }),
    );
    onMade(made.key);
  };
  return (
    <Dialog title={t('keys.rotate.title', { name })} onClose={onClose}>
      <div class="form">
        <p>{t('keys.rotate.text')}</p>
        {isOwn ? <Notice tone="warn">{t('keys.rotate.own')}</Notice> : null}
        <ErrorNotice error={rotating.error} />
        <SelectField
          label={t('keys.grace')}
          value={grace}
          onValue={setGrace}
          choices={GRACES.map((value) => ({ value, label: t(`keys.grace.${value}`) }))}
        />
        <div class="actions">
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button look="primary" busy={rotating.busy} onClick={() => rotating.run(rotate)}>
            {t('keys.rotate')}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
