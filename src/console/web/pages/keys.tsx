import { useState } from 'preact/hooks';
import { answerOf, api, type Schemas } from '../api.ts';
import { Badge } from '../components/badge.tsx';
import { Button } from '../components/button.tsx';
import { ConfirmDialog } from '../components/confirm.tsx';
import { Empty } from '../components/notice.tsx';
import { Page } from '../components/page.tsx';
import { type Column, PagedTable } from '../components/table.tsx';
import { Time } from '../components/time.tsx';
import { NewKeyDialog, RotateDialog, ShownKeyDialog } from '../key-dialogs.tsx';
import { useResource } from '../resource.ts';
import { hrefWith, navigate, query } from '../router.ts';
import { session, workspace } from '../state.ts';
import { formatMoney, formatNumber, t } from '../text.ts';

type Key = Schemas['KeyRead'];
type Open =
  | { what: 'new' }
  | { what: 'rotate' | 'revoke' | 'disable'; key: Key }
  | { what: 'shown'; text: string };

/** Whether the present sign-in is one with this key. */
const isOwn = (key: Key): boolean => key.id === session.value?.key_id;

const pathOf = (key: Key) => ({ params: { path: { workspace_id: workspace.value, key_id: key.id } } });
const revoke = (key: Key) =>
  answerOf(api.DELETE('/admin/api/workspaces/{workspace_id}/keys/{key_id}', pathOf(key)));
const setDisabled = (key: Key, disabled: boolean) =>
  answerOf(
    api.PATCH('/admin/api/workspaces/{workspace_id}/keys/{key_id}', { ...pathOf(key), body: { disabled } }),
  );

/** What each key has spent since the beginning of the month (UTC), by its id. */
async function readSpent(): Promise<ReadonlyMap<string, number>> {
  const now = new Date();
  const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())).toISOString();
  const usage = await answerOf(
    api.GET('/admin/api/workspaces/{workspace_id}/model-usage', {
      params: { path: { workspace_id: workspace.value }, query: { from, group_by: 'key' } },
    }),
  );
  return new Map(usage.items.map(({ group, cost }) => [group, cost]));
}

export default function Keys() {
  const cursor = query.value.get('cursor');
  const keys = useResource(
    () =>
      answerOf(
        api.GET('/admin/api/workspaces/{workspace_id}/keys', {
          params: { path: { workspace_id: workspace.value }, query: { cursor: cursor ?? '' } },
        }),
      ),
    [workspace.value, cursor],
  );
  const spent = useResource(readSpent, [workspace.value]);
  const [open, setOpen] = useState<Open | undefined>(query.value.has('new') ? { what: 'new' } : undefined);
  const close = (): void => {
    setOpen(undefined);
    if (query.value.has('new')) navigate(hrefWith({ new: undefined }), { replace: true });
  };
  const show = (text: string): void => {
    setOpen({ what: 'shown', text });
    keys.reload();
  };
  const reloadAfter = (work: Promise<unknown>) => work.then(keys.reload);
  const create = (
    <Button look="primary" onClick={() => setOpen({ what: 'new' })}>
      {t('keys.create')}
    </Button>
  );
  return (
    <Page title={t('page.keys')} about={t('keys.about')} actions={create}>
      <PagedTable
        of={keys}
        cursor={cursor}
        empty={<Empty title={t('keys.none')}>{create}</Empty>}
        caption={t('page.keys')}
        columns={columnsOf(spent.data, setOpen, (key) => void reloadAfter(setDisabled(key, false)))}
        keyOf={({ id }) => id}
      />
      {open?.what === 'new' ? <NewKeyDialog onClose={close} onMade={show} /> : null}
      {open?.what === 'shown' ? <ShownKeyDialog text={open.text} onClose={close} /> : null}
      {open?.what === 'rotate' ? (
        <RotateDialog of={open.key} isOwn={isOwn(open.key)} onClose={close} onMade={show} />
      ) : null}
      {open?.what === 'revoke' ? (
        <ConfirmDialog
          title={t('keys.revoke.title', { name: open.key.name })}
          action={t('keys.revoke')}
          run={() => reloadAfter(revoke(open.key))}
          onClose={close}
        >
          {t(isOwn(open.key) ? 'keys.revoke.own' : 'keys.revoke.text')}
        </ConfirmDialog>
      ) : null}
      {open?.what === 'disable' ? (
        <ConfirmDialog
          title={t('keys.disable.title', { name: open.key.name })}
          action={t('keys.disable')}
          run={() => reloadAfter(setDisabled(open.key, true))}
          onClose={close}
        >
          {t(isOwn(open.key) ? 'keys.disable.own' : 'keys.disable.text')}
        </ConfirmDialog>
      ) : null}
    </Page>
  );
}

function columnsOf(
  spent: ReadonlyMap<string, number> | undefined,
  setOpen: (open: Open) => void,
  enable: (key: Key) => void,
): Column<Key>[] {
  return [
    {
      title: t('keys.name'),
      cell: (key) => (
        <>
          <div>
            <span class="name">{key.name}</span> <KeyState of={key} />
          </div>
          <code class="soft">{key.prefix}…</code>
        </>
      ),
    },
    { title: t('keys.person'), cell: (key) => <span class="name">{key.user_email}</span> },
    { title: t('keys.scopes'), cell: (key) => <span class="small">{key.scopes.join(', ')}</span> },
    {
      title: t('keys.spent'),
      kind: 'number',
      cell: (key) => (
        <>
          <Spent cost={spent?.get(key.id) ?? 0} budget={key.limits.budget_per_month} />
          <Limits of={key} />
        </>
      ),
    },
    {
      title: t('keys.used'),
      cell: (key) => (
        <>
          <Time at={key.last_used_at} relative />
          {key.expires_at === null ? null : (
            <div class="soft small">
              {t('keys.expires')} <Time at={key.expires_at} form="date" />
            </div>
          )}
        </>
      ),
    },
    {
      title: '',
      kind: 'actions',
      cell: (key) => (
        <>
          <Button look="plain" onClick={() => setOpen({ what: 'rotate', key })}>
            {t('keys.rotate')}
          </Button>
          {key.disabled ? (
            <Button look="plain" onClick={() => enable(key)}>
              {t('keys.enable')}
            </Button>
          ) : (
            <Button look="plain" onClick={() => setOpen({ what: 'disable', key })}>
              {t('keys.disable')}
            </Button>
          )}
          <Button look="plain danger" onClick={() => setOpen({ what: 'revoke', key })}>
            {t('keys.revoke')}
          </Button>
        </>
      ),
    },
  ];
}

function KeyState({ of: key }: { of: Key }) {
  if (key.disabled) return <Badge tone="warn">{t('keys.disabled')}</Badge>;
  const expired = key.expires_at !== null && new Date(key.expires_at) <= new Date();
  if (expired) return <Badge tone="bad">{t('keys.expired')}</Badge>;
  return isOwn(key) ? <Badge>{t('keys.own')}</Badge> : null;
}

function Limits({ of: { limits } }: { of: Key }) {
  const { requests_per_minute: requests, tokens_per_minute: tokens } = limits;
  const words = [
    ...(requests == null ? [] : [t('keys.limit.requests', { count: formatNumber(requests) })]),
    ...(tokens == null ? [] : [t('keys.limit.tokens', { count: formatNumber(tokens) })]),
  ];
  return (
    <>
      {words.map((word) => (
        <div class="soft small" key={word}>
          {word}
        </div>
      ))}
    </>
  );
}

/** The spending of this month, beside the budget if there is one. */
const Spent = ({ cost, budget }: { cost: number; budget: number | null | undefined }) =>
  budget == null ? (
    <span>{formatMoney(cost)}</span>
  ) : (
    <span>
      {formatMoney(cost)} / {formatMoney(budget)}
      <progress value={Math.min(cost, budget)} max={budget} aria-label={t('keys.spent')} />
    </span>
  );
