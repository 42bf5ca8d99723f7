import type { ComponentChildren } from 'preact';
import { useAction } from '../resource.ts';
import { t } from '../text.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNotice } from './notice.tsx';

/** Asks before something that cannot be undone. `action` names it, as the button does. */
export function ConfirmDialog({
  title,
  action,
  run,
  onClose,
  children,
}: {
  title: string;
  action: string;
  run(): Promise<unknown>;
  onClose(): void;
  children: ComponentChildren;
}) {
  const acting = useAction();
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="form">
        <div>{children}</div>
        <ErrorNotice error={acting.error} />
        <div class="actions">
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button look="danger" busy={acting.busy} onClick={() => acting.run(() => run().then(onClose))}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
