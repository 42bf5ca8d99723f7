import { answerOf, api, type Schemas } from './api.ts';
import { PagedTable } from './components/table.tsx';
import { Time } from './components/time.tsx';
import { useResource } from './resource.ts';
import { query } from './router.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';

type Entry = Schemas['DocumentHistoryEntry'];

const CURSOR = 'before';

/** Who did what with a document, newest first, page by page. */
export function DocumentHistory({ id }: { id: string }) {
  const cursor = query.value.get(CURSOR);
  const history = useResource(
    () =>
      answerOf(
        api.GET('/admin/call/v1/{workspace_id}/file/{file_id}/history', {
          params: {
            path: { workspace_id: workspace.value, file_id: id },
            query: { limit: 20, cursor: cursor ?? '' },
          },
        }),
      ),
    [id, cursor],
  );
  return (
    <PagedTable
      of={history}
      cursor={cursor}
      cursorName={CURSOR}
      empty={null}
      caption={t('library.document.history')}
      keyOf={(row) => row.id}
      columns={[
        { title: t('events.time'), cell: (row) => <Time at={row.created_at} /> },
        { title: t('audit.actor'), cell: (row) => <Actor of={row} /> },
        { title: t('audit.change'), cell: (row) => <Change of={row} /> },
      ]}
    />
  );
}

const Actor = ({ of: { actor, via, address } }: { of: Entry }) => (
  <>
    <span class="name">{actor ?? '–'}</span>
    {via === 'key' || via === 'session' ? (
      <div class="soft small">
        {t(`audit.via.${via}`)}
        {address === null ? null : ` · ${address}`}
      </div>
    ) : null}
  </>
);

const Change = ({ of: { action, changes } }: { of: Entry }) => (
  <>
    {t(`library.did.${action}`)}
    {changes.map(({ field, before, after }) => (
      <div class="small" key={field}>
        <code>{field}</code>{' '}
        {before === null && after === null ? null : (
          <span class="name">
            {before ?? '–'} → {after ?? '–'}
          </span>
        )}
      </div>
    ))}
  </>
);
