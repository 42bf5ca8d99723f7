import { useState } from 'preact/hooks';
import { answerOf, api } from '../api.ts';
import { Badge } from '../components/badge.tsx';
import { Button, LinkButton } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/field.tsx';
import { Form, FormButtons } from '../components/form.tsx';
import { Page } from '../components/page.tsx';
import { PagedTable } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { ContentCounts, ReadingSwitch } from '../content-counts.tsx';
import { useAction, useResource } from '../resource.ts';
import { hrefOf, hrefWith, navigate, query } from '../router.ts';
import { isOperator, session } from '../state.ts';
import { t } from '../text.ts';

export default function Workspaces() {
  const cursor = query.value.get('cursor');
  const workspaces = useResource(
    () => answerOf(api.GET('/admin/api/workspaces', { params: { query: { cursor: cursor ?? '' } } })),
    [cursor],
  );
  const reading = query.value.get('reading');
  const [adding, setAdding] = useState(false);
  const add = isOperator.value ? (
    <Button look="primary" onClick={() => setAdding(true)}>
      {t('workspaces.create')}
    </Button>
  ) : undefined;
  return (
    <Page title={t('page.workspaces')} about={t('workspaces.about')} actions={add}>
      <PagedTable
        of={workspaces}
        cursor={cursor}
        empty={null}
        caption={t('page.workspaces')}
        keyOf={({ id }) => id}
        columns={[
          {
            title: t('workspaces.id'),
            cell: ({ id }) => (
              <>
                <code>{id}</code>{' '}
                {id === session.value?.workspace_id ? <Badge>{t('workspaces.own')}</Badge> : null}
              </>
            ),
          },
          { title: t('workspaces.name'), cell: ({ name }) => <span class="name">{name}</span> },
          { title: t('workspaces.since'), cell: ({ created_at: at }) => <Time at={at} /> },
          {
            title: '',
            kind: 'actions',
            cell: ({ id }) => (
              <>
                <LinkButton look="plain" href={hrefOf('keys', { workspace: toParameter(id) })}>
                  {t('page.keys')}
                </LinkButton>
                <LinkButton look="plain" href={hrefOf('people', { workspace: toParameter(id) })}>
                  {t('page.people')}
                </LinkButton>
                <LinkButton look="plain" href={hrefWith({ reading: id })}>
                  {t('reading.title')}
                </LinkButton>
              </>
            ),
          },
        ]}
      />
      {reading === null ? null : (
        <Dialog
          title={t('reading.of', { workspace: reading })}
          onClose={() => navigate(hrefWith({ reading: undefined }))}
        >
          <div class="form">
            <ReadingSwitch workspace={reading} />
            <ContentCounts workspace={reading} />
          </div>
        </Dialog>
      )}
      {adding ? (
        <WorkspaceDialog
          onClose={() => setAdding(false)}
          onDone={() => {
            setAdding(false);
            workspaces.reload();
          }}
        />
      ) : null}
    </Page>
  );
}

const toParameter = (id: string): string | undefined => (id === session.value?.workspace_id ? undefined : id);

function WorkspaceDialog({ onClose, onDone }: { onClose(): void; onDone(): void }) {
  const [id, setId] = useState('');
  const [name, setName] = useState('');
  const making = useAction();
  const fields = making.error?.fields ?? {};
  const make = async (): Promise<void> => {
    const body = { id: id.trim(), ...(name.trim() === '' ? {} : { name: name.trim() }) };
    await answerOf(api.POST('/admin/api/workspaces', { body }));
    onDone();
  };
  return (
    <Dialog title={t('workspaces.create')} onClose={onClose}>
      <Form acting={making} run={make}>
        <TextField
          label={t('workspaces.id')}
          hint={t('workspaces.id.hint')}
          value={id}
          onValue={setId}
          mistake={fields['id']}
          mono
          required
          autofocus
        />
        <TextField label={t('workspaces.name')} value={name} onValue={setName} mistake={fields['name']} />
        <FormButtons submit={t('workspaces.create')} busy={making.busy} onClose={onClose} />
      </Form>
    </Dialog>
  );
}
