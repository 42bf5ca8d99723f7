// The states of documents' texts in the library.

import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { Select } from './components/field.tsx';
import { Empty } from './components/notice.tsx';
import { PagedTable } from './components/table.tsx';
import { type ContentRow, readByStatus, readStates, STATUSES, type Status } from './content-data.ts';
import { ContentBadge, needsAttention } from './content-state.tsx';
import type { Row } from './library-data.ts';
import { useResource } from './resource.ts';
import { hrefWith, navigate, query } from './router.ts';
import { t } from './text.ts';

/** Counts changes that were made in the dialog of a document. */
export const changes = signal(0);
export const documentChanged = (): void => {
  changes.value++;
};

const STATES_REFRESH_MS = 3000;

/** The states of the rows' texts, in one request for all of them; again, while some are on their way. */
export function useStates(rows: readonly Row[]): ReadonlyMap<string, ContentRow> {
  const [isPending, setPending] = useState(false);
  const ids = rows.map(({ id }) => id);
  const states = useResource(
    () => readStates(ids),
    [ids.join(), changes.value],
    isPending ? { everyMs: STATES_REFRESH_MS } : {},
  );
  const found = [...(states.data?.values() ?? [])];
  useEffect(() => setPending(found.some(({ status }) => status === 'pending')));
  return states.data ?? new Map();
}

/** A link to the state of a text that is not read yet, or missing. */
export const AttentionLink = ({ id, state }: { id: string; state: ContentRow | undefined }) =>
  state === undefined || !needsAttention(state) ? null : (
    <a
      href={hrefWith({ document: id, show: 'text' })}
      title={state.reason ?? t(`content.${state.status}.about`)}
    >
      <ContentBadge of={state} />
    </a>
  );

const readStatus = (): Status => STATUSES.find((each) => each === query.value.get('status')) ?? 'failed';

/** Documents by the state of their text, those that reached it last first. */
export function TextStates() {
  const [status, cursor] = [readStatus(), query.value.get('cursor') ?? ''];
  const list = useResource(() => readByStatus(status, cursor), [status, cursor, changes.value]);
  return (
    <div class="stack">
      <div class="row">
        <Select
          label={t('content.state')}
          value={status}
          onValue={(chosen) => navigate(hrefWith({ status: chosen, cursor: undefined }))}
          choices={STATUSES.map((value) => ({ value, label: t(`content.${value}`) }))}
        />
        <span class="soft">{t(`content.${status}.about`)}</span>
      </div>
      <PagedTable
        of={list}
        cursor={cursor || null}
        empty={<Empty title={t('library.none.documents')} />}
        caption={t('library.view.texts')}
        keyOf={(row) => row.document_id}
        columns={[
          {
            title: t('library.name'),
            cell: (row) => (
              <a class="name" href={hrefWith({ document: row.document_id, show: 'text' })}>
                {row.name}
              </a>
            ),
          },
          { title: t('content.state'), cell: (row) => <ContentBadge of={row} /> },
          { title: t('content.reason'), cell: (row) => <span class="name">{row.reason ?? '–'}</span> },
        ]}
      />
    </div>
  );
}
