import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from '../api.ts';
import { Button } from '../components/button.tsx';
import { TextField } from '../components/field.tsx';
import { Empty } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { PagedTable } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { useResource } from '../resource.ts';
import { hrefWith, navigate, query } from '../router.ts';
import { workspace } from '../state.ts';
import { t } from '../text.ts';

type Entry = Schemas['AuditEntry'];

const FILTERS = ['action', 'actor', 'object', 'since', 'until'] as const;
type Filter = (typeof FILTERS)[number];

const readFilter = (): Partial<Record<Filter, string>> =>
  Object.fromEntries(
    FILTERS.map((name) => [name, query.value.get(name) ?? '']).filter(([, value]) => value !== ''),
  );

export default function Audit() {
  const cursor = query.value.get('cursor');
  const filter = readFilter();
  const rows = useResource(
    () =>
      answerOf(
        api.GET('/admin/api/workspaces/{workspace_id}/audit', {
          params: {
            path: { workspace_id: workspace.value },
            query: { ...filter, ...(cursor === null ? {} : { cursor }) },
          },
        }),
      ),
    [workspace.value, cursor, JSON.stringify(filter)],
  );
  return (
    <Page title={t('page.audit')} about={t('audit.about')}>
      <FilterForm key={JSON.stringify(filter)} present={filter} />
      <PagedTable
        of={rows}
        cursor={cursor}
        empty={<Empty title={t('audit.none')} />}
        caption={t('page.audit')}
        keyOf={({ id }) => id}
        columns={[
          { title: t('events.time'), cell: (row) => <Time at={row.created_at} /> },
          {
            title: t('audit.actor'),
            cell: (row) => (
              <>
                <a class="name" href={hrefWith({ actor: row.actor, cursor: undefined })}>
                  {row.actor}
                </a>
                <div class="soft small">
                  {t(`audit.via.${row.via}`)}
                  {row.address === null ? null : ` · ${row.address}`}
                </div>
              </>
            ),
          },
          {
            title: t('audit.action'),
            cell: ({ action }) => (
              <a href={hrefWith({ action, cursor: undefined })}>
                <code class="nowrap">{action}</code>
              </a>
            ),
          },
          { title: t('audit.object'), cell: (row) => <ObjectLink of={row} /> },
          { title: t('audit.change'), cell: (row) => <Change of={row} /> },
        ]}
      />
    </Page>
  );
}

const ObjectLink = ({ of: { object } }: { of: Entry }) => (
  <a
    class="name tiny"
    title={object.id ?? ''}
    href={hrefWith({
      object: object.id === null ? object.kind : `${object.kind}:${object.id}`,
      cursor: undefined,
    })}
  >
    {object.kind}
    <code class="block small soft">{object.id}</code>
  </a>
);

/** The members that differ, each with its value before and after. */
function Change({ of: { before, after } }: { of: Entry }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed = names.filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]));
  if (changed.length === 0) return <span class="soft">–</span>;
  return (
    <details>
      <summary class="name short">{changed.join(', ')}</summary>
      <dl class="facts small">
        {changed.map((name) => (
          <div class="fact" key={name}>
            <dt>{name}</dt>
            <dd>
              {show(before?.[name])} → {show(after?.[name])}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

const show = (value: unknown): string =>
  value === undefined || value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);

function FilterForm({ present }: { present: Partial<Record<Filter, string>> }) {
  const [draft, setDraft] = useState(present);
  const set = (name: Filter) => (value: string) => setDraft({ ...draft, [name]: value.trim() });
  const cleared = Object.fromEntries(FILTERS.map((name) => [name, undefined]));
  return (
    <form
      class="form-row end"
      onSubmit={(event) => {
        event.preventDefault();
        navigate(hrefWith({ ...cleared, ...draft, cursor: undefined }));
      }}
    >
      <TextField
        label={t('audit.action')}
        value={draft.action ?? ''}
        onValue={set('action')}
        placeholder="access.create-key"
      />
      <TextField
        label={t('audit.actor')}
        value={draft.actor ?? ''}
        onValue={set('actor')}
        placeholder="ada@example.com"
      />
      <TextField
        label={t('audit.object')}
        value={draft.object ?? ''}
        onValue={set('object')}
        placeholder="user"
      />
      <TextField label={t('audit.since')} type="date" value={draft.since ?? ''} onValue={set('since')} />
      <TextField label={t('audit.until')} type="date" value={draft.until ?? ''} onValue={set('until')} />
      <div class="row">
        <Button type="submit">{t('audit.filter')}</Button>
        {Object.keys(present).length === 0 ? null : (
          <a href={hrefWith({ ...cleared, cursor: undefined })}>{t('library.filter.clear')}</a>
        )}
      </div>
    </form>
  );
}
