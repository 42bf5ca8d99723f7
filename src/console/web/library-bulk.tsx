import { useState } from 'preact/hooks';
import { Button } from './components/button.tsx';
import { ConfirmDialog } from './components/confirm.tsx';
import { Notice } from './components/notice.tsx';
import { ACTIONS, type ActionName, doToAll, type Row, type View } from './library-data.ts';
import { useAction } from './resource.ts';
import { TagDialog } from './tag-dialog.tsx';
import { formatNumber, t } from './text.ts';

/** What can be done with the rows of a view. */
const ACTIONS_OF: Record<View, readonly ActionName[]> = {
  documents: ['publish', 'hide', 'archive', 'bin'],
  archive: ['unarchive', 'bin'],
  bin: ['restore', 'purge'],
};

type BulkProps = { view: View; chosen: readonly Row[]; onDone(): void; onClear(): void };

/** The actions on all chosen documents; documents on which the action fails stay chosen, with the reason. */
export function Bulk({ view, chosen, onDone, onClear }: BulkProps) {
  const acting = useAction();
  const [failures, setFailures] = useState<readonly string[]>([]);
  const [asked, setAsked] = useState<'purge' | 'tags'>();
  if (chosen.length === 0 && failures.length === 0) return null;
  const doIt = async (act: (id: string) => Promise<unknown>): Promise<void> => {
    const failed = await doToAll(
      chosen.map(({ id }) => id),
      act,
    );
    setFailures(
      chosen.flatMap(({ id, name }) => (failed.has(id) ? [`${name}: ${failed.get(id)?.message}`] : [])),
    );
    if (failed.size === 0) onClear();
    onDone();
  };
  return (
    <div class="stack">
      <div class="row bulk">
        <span role="status">{t('library.chosen', { count: formatNumber(chosen.length) })}</span>
        {view === 'documents' ? <Button onClick={() => setAsked('tags')}>{t('library.tag')}</Button> : null}
        {ACTIONS_OF[view].map((name) => (
          <Button
            key={name}
            look={name === 'purge' ? 'danger' : undefined}
            busy={acting.busy}
            onClick={() => (name === 'purge' ? setAsked('purge') : acting.run(() => doIt(ACTIONS[name])))}
          >
            {t(`library.action.${name}`)}
          </Button>
        ))}
      </div>
      {failures.length === 0 ? null : (
        <Notice tone="bad" title={t('library.failed', { count: formatNumber(failures.length) })}>
          <p class="lines">{failures.slice(0, 10).join('\n')}</p>
        </Notice>
      )}
      {asked === 'purge' ? (
        <ConfirmDialog
          title={t('library.purge.title', { count: formatNumber(chosen.length) })}
          action={t('library.action.purge')}
          run={() => doIt(ACTIONS.purge)}
          onClose={() => setAsked(undefined)}
        >
          {t('library.purge.text')}
        </ConfirmDialog>
      ) : null}
      {asked === 'tags' ? (
        <TagDialog chosen={chosen} onClose={() => setAsked(undefined)} apply={doIt} />
      ) : null}
    </div>
  );
}
