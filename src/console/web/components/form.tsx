import type { ComponentChildren } from 'preact';
import type { Action } from '../resource.ts';
import { t } from '../text.ts';
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

/** The buttons below a dialog's form: the way out, and the action that `submit` names. */
export const FormButtons = ({
  submit,
  busy,
  disabled = false,
  close = t('action.cancel'),
  onClose,
}: {
  submit: string;
  busy: boolean;
  disabled?: boolean;
  close?: string;
  onClose(): void;
}) => (
  <div class="actions">
    <Button onClick={onClose}>{close}</Button>
    <Button look="primary" type="submit" busy={busy} disabled={disabled}>
      {submit}
    </Button>
  </div>
);
