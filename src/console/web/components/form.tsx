import type { ComponentChildren } from 'preact';
import type { Action } from '../resource.ts';
import { t } from '../text.ts';
import { Badge } from './badge.tsx';
import { Button } from './button.tsx';
import { ErrorNotice } from './notice.tsx';

/** A form that runs its action where it is sent, and shows above its fields why that failed. */
export const Form = ({
  acting,
  run,
  children,
}: {
  acting: Action;
  run(): Promise<unknown>;
  children: ComponentChildren;
}) => (
  <form
    class="form"
    onSubmit={(event) => {
      event.preventDefault();
      acting.run(run);
    }}
  >
    <ErrorNotice error={acting.error} />
    {children}
  </form>
);

/** The buttons below a dialog's form: the way out, and the action that `submit` names. `isSaved`: nothing has changed since. */
export const FormButtons = ({
  submit,
  busy,
  disabled = false,
  close = t('action.cancel'),
  isSaved = false,
  onClose,
}: {
  submit: string;
  busy: boolean;
  disabled?: boolean;
  close?: string;
  isSaved?: boolean;
  onClose(): void;
}) => (
  <div class="actions">
    <span role="status">{isSaved ? <Badge tone="good">{t('action.saved')}</Badge> : null}</span>
    <Button onClick={onClose}>{close}</Button>
    <Button look="primary" type="submit" busy={busy} disabled={disabled}>
      {submit}
    </Button>
  </div>
);
