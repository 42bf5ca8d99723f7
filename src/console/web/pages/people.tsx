import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from '../api.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { ConfirmDialog } from '../components/confirm.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/field.tsx';
import { Form, FormButtons } from '../components/form.tsx';
import { Empty, Notice } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { PagedTable } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { useAction, useResource } from '../resource.ts';
import { hrefOf, query } from '../router.ts';
import { isOwnWorkspace, session, workspace } from '../state.ts';
import { t } from '../text.ts';

type Person = Schemas['UserRead'];
type Open = { what: 'new' } | { what: 'change' | 'delete'; person: Person };

const COLLECTION = '/admin/api/workspaces/{workspace_id}/users';
const ITEM = '/admin/api/workspaces/{workspace_id}/users/{user_id}';
const paramsOf = (person: Person) => ({ path: { workspace_id: workspace.value, user_id: person.id } });

export default function People() {
  const cursor = query.value.get('cursor');
  const people = useResource(
    () =>
      answerOf(
        api.GET(COLLECTION, {
          params: { path: { workspace_id: workspace.value }, query: { cursor: cursor ?? '' } },
        }),
      ),
    [workspace.value, cursor],
  );
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  const done = (): void => {
    close();
    people.reload();
  };
  const add = (
    <Button look="primary" onClick={() => setOpen({ what: 'new' })}>
      {t('people.add')}
    </Button>
  );
  return (
    <Page title={t('page.people')} about={t('people.about')} actions={add}>
      <PagedTable
        of={people}
        cursor={cursor}
        empty={<Empty title={t('people.none')}>{add}</Empty>}
        caption={t('page.people')}
        keyOf={({ id }) => id}
        columns={[
          { title: t('people.email'), cell: ({ email }) => <span class="name">{email}</span> },
          { title: t('people.name'), cell: ({ name }) => <span class="name">{name ?? '–'}</span> },
          { title: t('people.since'), cell: ({ created_at: at }) => <Time at={at} /> },
          {
            title: '',
            kind: 'actions',
            cell: (person) => (
              <>
                <Button look="plain" onClick={() => setOpen({ what: 'change', person })}>
                  {t('action.change')}
                </Button>
                <Button look="plain danger" onClick={() => setOpen({ what: 'delete', person })}>
                  {t('action.delete')}
                </Button>
              </>
            ),
          },
        ]}
      />
      {open?.what === 'new' ? <PersonDialog onClose={close} onDone={done} /> : null}
      {open?.what === 'change' ? <PersonDialog person={open.person} onClose={close} onDone={done} /> : null}
      {open?.what === 'delete' ? (
        <ConfirmDialog
          title={t('people.delete.title', { email: open.person.email })}
          action={t('action.delete')}
          run={() => answerOf(api.DELETE(ITEM, { params: paramsOf(open.person) })).then(people.reload)}
          onClose={close}
        >
          {open.person.email === session.value?.user_email ? (
            <Notice tone="warn" title={t('people.delete.own')} />
          ) : null}
          <p>{t('people.delete.text')}</p>
          <LinkButton
            look="plain"
            href={hrefOf('keys', { workspace: isOwnWorkspace.value ? undefined : workspace.value })}
          >
            {t('people.delete.keys')}
          </LinkButton>
        </ConfirmDialog>
      ) : null}
    </Page>
  );
}

function PersonDialog({ person, onClose, onDone }: { person?: Person; onClose(): void; onDone(): void }) {
  const [email, setEmail] = useState(person?.email ?? '');
  const [name, setName] = useState(person?.name ?? '');
  const saving = useAction();
  const fields = saving.error?.fields ?? {};
  const save = async (): Promise<void> => {
    const body = { email: email.trim(), name: name.trim() === '' ? null : name.trim() };
    await (person === undefined
      ? answerOf(api.POST(COLLECTION, { params: { path: { workspace_id: workspace.value } }, body }))
      : answerOf(api.PATCH(ITEM, { params: paramsOf(person), body })));
    onDone();
  };
  return (
    <Dialog
      title={person === undefined ? t('people.add') : t('people.change.title', { email: person.email })}
      onClose={onClose}
    >
      <Form acting={saving} run={save}>
        <TextField
          label={t('people.email')}
          type="email"
          value={email}
          onValue={setEmail}
          mistake={fields['email']}
          required
          autofocus
        />
        <TextField label={t('people.name')} value={name} onValue={setName} mistake={fields['name']} />
        <FormButtons submit={t('action.save')} busy={saving.busy} onClose={onClose} />
      </Form>
    </Dialog>
  );
}
