// A list whose rows are registered under an identifier, and the dialogs in which they are added, opened and deleted.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CallError } from './api.ts';
import { Button } from './components/button.tsx';
import { ConfirmDialog } from './components/confirm.tsx';
import { Empty, ErrorNotice } from './components/notice.tsx';
import { Page } from './components/page.tsx';
import { type Column, PagedTable } from './components/table.tsx';
import { Time } from './components/time.tsx';
import type { MessageName } from './messages.ts';
import { useResource } from './resource.ts';
import { hrefWith, navigate, query } from './router.ts';
import { workspace } from './state.ts';
import { t } from './text.ts';

type Registered = { id: string; updated_at: string };

/** The form of a new row, or of one that is there. After `onSaved` a new one is one that is there, and cannot be made twice. */
export type RegisteredDialogProps<Row> = {
  row?: Row | undefined;
  /** Whether the row was saved a moment ago. */
  wasSaved: boolean;
  onClose(): void;
  onSaved(row: Row): void;
};

/** Throws where the identifier of a new row is that of another, which saving would overwrite. */
export async function refuseTaken(read: Promise<unknown>, field: string, text: MessageName): Promise<void> {
  const isTaken = await read.then(
    () => true,
    (error: unknown) => {
      if (error instanceof CallError && error.status === 404) return false;
      throw error;
    },
  );
  if (isTaken) throw new CallError(409, t(text), { [field]: t(text) });
}

/** The parameter of the URL that names the open row. */
type Kind = 'agent' | 'bot';

type Props<Row> = {
  kind: Kind;
  texts: Record<'title' | 'about' | 'add' | 'none' | 'deleteTitle' | 'deleteText', MessageName>;
  list(workspaceId: string, cursor: string): Promise<{ items: readonly Row[]; next_cursor: string | null }>;
  read(id: string): Promise<Row>;
  remove(id: string): Promise<unknown>;
  nameOf(row: Row): string;
  columns: readonly Column<Row>[];
  dialog(props: RegisteredDialogProps<Row>): JSX.Element;
};

const NEW = 'new';
const ID = 'id:';

/** The address of the present page with this row's dialog open. */
export const hrefOfRow = (kind: Kind, id: string): string => hrefWith({ [kind]: `${ID}${id}` });

export function RegisteredList<Row extends Registered>(props: Props<Row>) {
  const { kind, texts, list, read, remove, nameOf, columns, dialog: Dialog } = props;
  const cursor = query.value.get('cursor');
  const open = query.value.get(kind);
  const rows = useResource(() => list(workspace.value, cursor ?? ''), [workspace.value, cursor]);
  const [deleting, setDeleting] = useState<Row>();
  const show = (name: string | undefined): void => navigate(hrefWith({ [kind]: name }));
  // A row that is not on this page of the list has an address, too.
  const id = open?.startsWith(ID) ? open.slice(ID.length) : undefined;
  const opened = useResource(async () => (id === undefined ? undefined : read(id)), [workspace.value, id]);
  const [saved, setSaved] = useState<Row>();
  useEffect(() => setSaved((row) => (row?.id === id ? row : undefined)), [id]);
  const row = [saved, opened.data].find((each) => each !== undefined && each.id === id);
  const ofDialog = {
    wasSaved: saved !== undefined,
    onClose: () => show(undefined),
    onSaved(changed: Row): void {
      setSaved(changed);
      rows.reload();
      if (changed.id !== id) navigate(hrefOfRow(kind, changed.id), { replace: true });
    },
  };
  const add = (
    <Button look="primary" onClick={() => show(NEW)}>
      {t(texts.add)}
    </Button>
  );
  return (
    <Page title={t(texts.title)} about={t(texts.about)} actions={add}>
      <PagedTable
        of={rows}
        cursor={cursor}
        empty={<Empty title={t(texts.none)}>{add}</Empty>}
        caption={t(texts.title)}
        keyOf={(row) => row.id}
        columns={[
          ...columns,
          { title: t('agents.changed'), cell: ({ updated_at: at }) => <Time at={at} relative /> },
          {
            title: '',
            kind: 'actions',
            cell: (row) => (
              <Button look="plain danger" onClick={() => setDeleting(row)}>
                {t('action.delete')}
              </Button>
            ),
          },
        ]}
      />
      {open === NEW ? <Dialog {...ofDialog} /> : null}
      <ErrorNotice error={opened.error} />
      {row === undefined ? null : <Dialog key={id} row={row} {...ofDialog} />}
      {deleting === undefined ? null : (
        <ConfirmDialog
          title={t(texts.deleteTitle, { name: nameOf(deleting) })}
          action={t('action.delete')}
          run={() => remove(deleting.id).then(rows.reload)}
          onClose={() => setDeleting(undefined)}
        >
          {t(texts.deleteText)}
        </ConfirmDialog>
      )}
    </Page>
  );
}
