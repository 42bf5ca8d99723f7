import type { ComponentChildren } from 'preact';
import type { CallError } from '../api.ts';
import { t } from '../text.ts';
import { Button } from './button.tsx';

type Tone = 'info' | 'good' | 'warn' | 'bad';

/** A message about the page or a part of it. A bad one is read out at once. */
export const Notice = ({
  tone = 'info',
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children?: ComponentChildren;
}) => (
  <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
    {title === undefined ? null : <div class="notice-title">{title}</div>}
    {children === undefined ? null : <div>{children}</div>}
  </div>
);

/** What failed, why, and what to do. */
export const ErrorNotice = ({ error, retry }: { error: CallError | undefined; retry?: () => void }) =>
  error === undefined ? null : (
    <Notice tone="bad" title={error.status === 403 ? t('error.forbidden') : t('error.title')}>
      <p class="lines">{error.message}</p>
      {retry === undefined ? null : (
        <Button look="plain" onClick={retry}>
          {t('action.retry')}
        </Button>
      )}
    </Notice>
  );

/** What stands where a list has no rows yet: what would be here, and the way there. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
);

export const Loading = () => (
  <p class="loading" role="status">
    {t('loading')}
  </p>
);
