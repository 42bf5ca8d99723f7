import { useState } from 'preact/hooks';
import { Badge, Chips } from '../components/badge.tsx';
import { LinkButton } from '../components/button.tsx';
import { Empty, ErrorNotice, Loading, Notice } from '../components/notice.tsx';
import { Page, Tabs } from '../components/page.tsx';
import { type Column, Pager, Table } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import type { ContentRow } from '../content-data.ts';
import { closeDocument, DocumentDialog } from '../document-dialog.tsx';
import { Bulk } from '../library-bulk.tsx';
import { PAGE_SIZE, type Row, readRows, type Search, type View } from '../library-data.ts';
import { Filters } from '../library-filters.tsx';
import { FolderLink, Folders, folderOf } from '../library-folders.tsx';
import { AttentionLink, changes, documentChanged, TextStates, useStates } from '../library-texts.tsx';
import { useResource } from '../resource.ts';
import { hrefOf, hrefWith, query } from '../router.ts';
import { hasScope, isOwnWorkspace, workspace } from '../state.ts';
import { formatBytes, formatNumber, t } from '../text.ts';
import { UploadPanel } from '../upload-panel.tsx';
import { storedCount } from '../uploads.ts';

const VIEWS = ['documents', 'texts', 'archive', 'bin'] as const;
const DEFAULT_ORDER = 'created_at DESC';

const readView = (): (typeof VIEWS)[number] =>
  VIEWS.find((view) => view === query.value.get('view')) ?? 'documents';

const readSearch = (): Search => ({
  where: new URLSearchParams(query.value.get('where') ?? ''),
  q: query.value.get('q') ?? '',
  order: query.value.get('order') ?? DEFAULT_ORDER,
  page: Math.max(1, Number.parseInt(query.value.get('page') ?? '1', 10) || 1),
  cursor: query.value.get('cursor') ?? '',
});

export default function Library() {
  if (!isOwnWorkspace.value) return <OtherWorkspace />;
  if (!hasScope('documents:read')) {
    return (
      <Page title={t('page.library')}>
        <Notice title={t('usage.scope', { scope: 'documents:read' })} />
      </Page>
    );
  }
  return <OwnLibrary />;
}

/** Documents open only with a key of their workspace. */
const OtherWorkspace = () => (
  <Page title={t('page.library')}>
    <Notice title={t('workspace.key', { workspace: workspace.value })} />
  </Page>
);

function OwnLibrary() {
  const view = readView();
  const open = query.value.get('document');
  return (
    <Page title={t('page.library')} about={t('library.about')}>
      {view === 'documents' && hasScope('documents:write') ? (
        <UploadPanel folder={folderOf(readSearch().where)} />
      ) : null}
      <Tabs
        label={t('library.views')}
        tabs={VIEWS.map((each) => ({
          href: hrefOf('library', { view: each === 'documents' ? undefined : each }),
          label: t(`library.view.${each}`),
          current: each === view,
        }))}
      />
      {view === 'texts' ? <TextStates /> : <Documents view={view} />}
      {open === null ? null : (
        <DocumentDialog id={open} onClose={closeDocument} onChanged={documentChanged} />
      )}
    </Page>
  );
}

const NoDocuments = ({ view, isNarrowed }: { view: View; isNarrowed: boolean }) =>
  view !== 'documents' || isNarrowed ? (
    <Empty title={t(`library.none.${view}`)} />
  ) : (
    <Empty title={t('library.empty')}>
      <p>{t('library.empty.about')}</p>
    </Empty>
  );

function Documents({ view }: { view: View }) {
  const search = readSearch();
  const list = useResource(
    () => readRows(view, search),
    [
      view,
      search.where.toString(),
      search.q,
      search.order,
      search.page,
      search.cursor,
      storedCount.value,
      changes.value,
    ],
  );
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const rows = list.data?.rows ?? [];
  const chosen = rows.filter(({ id }) => selected.has(id));
  const states = useStates(rows);
  return (
    <>
      {view === 'documents' ? (
        <>
          <Filters search={search} />
          <Folders where={search.where} />
        </>
      ) : null}
      <ErrorNotice error={list.error} retry={list.reload} />
      {hasScope('documents:write') ? (
        <Bulk view={view} chosen={chosen} onDone={list.reload} onClear={() => setSelected(new Set())} />
      ) : null}
      {list.data === undefined ? (
        list.loading && <Loading />
      ) : rows.length === 0 ? (
        <NoDocuments view={view} isNarrowed={search.q !== '' || search.where.size > 0} />
      ) : (
        <div class="stack">
          <Table
            caption={t(`library.view.${view}`)}
            rows={rows}
            keyOf={({ id }) => id}
            columns={columnsOf(rows, { selected, select: setSelected, where: search.where, states })}
          />
          {view === 'documents' ? (
            <Pages page={search.page} total={list.data.total} />
          ) : (
            <Pager next={list.data.next} cursor={search.cursor || null} />
          )}
        </div>
      )}
    </>
  );
}

function columnsOf(
  rows: readonly Row[],
  {
    selected,
    select,
    where,
    states,
  }: {
    selected: ReadonlySet<string>;
    select(ids: ReadonlySet<string>): void;
    where: URLSearchParams;
    states: ReadonlyMap<string, ContentRow>;
  },
): Column<Row>[] {
  const toggle = (id: string, on: boolean): void =>
    select(new Set(on ? [...selected, id] : [...selected].filter((each) => each !== id)));
  const all = rows.every(({ id }) => selected.has(id));
  return [
    {
      title: t('library.select'),
      kind: 'select',
      heading: (
        <input
          type="checkbox"
          aria-label={t('library.select-all')}
          checked={all}
          onChange={() => select(new Set(all ? [] : rows.map(({ id }) => id)))}
        />
      ),
      cell: ({ id, name }) => (
        <input
          type="checkbox"
          aria-label={t('library.select-one', { name })}
          checked={selected.has(id)}
          onChange={(event) => toggle(id, event.currentTarget.checked)}
        />
      ),
    },
    {
      title: t('library.name'),
      cell: ({ id, name, status }) => (
        <>
          <a class="name" href={hrefWith({ document: id })}>
            {name}
          </a>{' '}
          {status === 'public' ? <Badge tone="good">{t('library.public')}</Badge> : null}{' '}
          <AttentionLink id={id} state={states.get(id)} />
        </>
      ),
    },
    {
      title: t('library.folder'),
      cell: ({ storage_url: url }) => <FolderLink url={url} where={where} />,
    },
    { title: t('library.tags'), cell: ({ tags }) => <Chips words={tags ?? []} /> },
    {
      title: t('library.size'),
      kind: 'number',
      cell: ({ file_size: size }) => (size === null ? '–' : formatBytes(size)),
    },
    {
      title: t('library.time'),
      cell: (row) => <Time at={row.deleted_at ?? row.archived_at ?? row.created_at} />,
    },
  ];
}

function Pages({ page, total }: { page: number; total: number }) {
  const pages = Math.max(1, Math.ceil(total / PAGE_SIZE));
  const first = (page - 1) * PAGE_SIZE + 1;
  const range = t('library.range', {
    first: formatNumber(first),
    last: formatNumber(Math.min(total, page * PAGE_SIZE)),
    total: formatNumber(total),
  });
  return (
    <nav class="pager" aria-label={t('table.pages')}>
      <span>{range}</span>
      <span class="row">
        {page > 1 ? (
          <LinkButton href={hrefWith({ page: page === 2 ? undefined : String(page - 1) })}>
            {t('library.previous')}
          </LinkButton>
        ) : null}
        {page < pages ? (
          <LinkButton href={hrefWith({ page: String(page + 1) })}>{t('library.next')}</LinkButton>
        ) : null}
      </span>
    </nav>
  );
}
