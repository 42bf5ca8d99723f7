import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { PageName } from '../pages.ts';
import { answerOf, api } from './api.ts';
import { Button } from './components/button.tsx';
import { Select } from './components/field.tsx';
import { LANGUAGE_NAMES, LANGUAGES, type MessageName } from './messages.ts';
import { useAction } from './resource.ts';
import { hrefOf } from './router.ts';
import { provider, signOnUrl, signOutUrl } from './sign-on.ts';
import {
  announceSession,
  hasScope,
  isAdmin,
  isOffline,
  isOperator,
  isOwnWorkspace,
  keepChoice,
  session,
  workspace,
} from './state.ts';
import { language, t } from './text.ts';

type Group = { title?: MessageName; pages: readonly PageName[] };

const GROUPS: readonly Group[] = [
  { pages: ['home'] },
  { title: 'nav.work', pages: ['library', 'knowledge', 'playground', 'conversations'] },
  { title: 'nav.build', pages: ['models', 'agents', 'bots'] },
  { title: 'nav.watch', pages: ['usage', 'events', 'health', 'audit'] },
  { title: 'nav.access', pages: ['keys', 'people', 'workspaces', 'sessions'] },
];

/** What the key of the sign-in needs for a page; a page that is not named here needs nothing. */
const NEEDS: Partial<Record<PageName, () => boolean>> = {
  library: () => hasScope('documents:read'),
  knowledge: () => hasScope('documents:read'),
  playground: () => hasScope('models'),
  conversations: () => hasScope('chat'),
  models: () => isAdmin.value,
  agents: () => isAdmin.value,
  bots: () => isAdmin.value,
  usage: () => isAdmin.value,
  events: () => isAdmin.value || hasScope('metrics'),
  health: () => isAdmin.value,
  audit: () => isAdmin.value,
  keys: () => isAdmin.value,
  people: () => isAdmin.value,
  workspaces: () => isOperator.value,
  sessions: () => isAdmin.value,
};

const isShown = (page: PageName): boolean => NEEDS[page]?.() ?? true;

/** The navigation beside every page, with the choices of the reader and the way out. */
export function Frame({ page, children }: { page: PageName | undefined; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const groups = GROUPS.map(({ title, pages }) => ({ title, pages: pages.filter(isShown) }));
  return (
    <div class="shell">
      <a class="skip" href="#main" target="_self">
        {t('nav.skip')}
      </a>
      <header class="sidebar" {...(open ? { 'data-open': true } : {})}>
        <div class="sidebar-top">
          <a class="brand" href={hrefOf('home')}>
            Atrium
          </a>
          <span class="menu-button">
            <Button aria-expanded={open} onClick={() => setOpen(!open)}>
              {t('nav.menu')}
            </Button>
          </span>
        </div>
        <nav class="nav" aria-label={t('nav.label')}>
          {groups
            .filter(({ pages }) => pages.length > 0)
            .map(({ title, pages }) => (
              <div class="nav-group" key={title ?? 'home'}>
                {title === undefined ? null : <h2>{t(title)}</h2>}
                <ul>
                  {pages.map((each) => (
                    <li key={each}>
                      <NavLink page={each} current={each === page} onFollow={() => setOpen(false)} />
                    </li>
                  ))}
                </ul>
              </div>
            ))}
        </nav>
        <Account />
      </header>
      <div>
        {isOffline.value ? (
          <div class="banner" role="alert">
            {t('offline')}
          </div>
        ) : null}
        {isOwnWorkspace.value ? null : (
          <div class="banner" role="status">
            {t('workspace.other', { workspace: workspace.value })}{' '}
            <a href={hrefOf(page ?? 'home')}>{t('workspace.back')}</a>
          </div>
        )}
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  );
}

/** A link keeps the workspace that the person looks at. */
const NavLink = ({ page, current, onFollow }: { page: PageName; current: boolean; onFollow(): void }) => (
  <a
    class="nav-link"
    href={hrefOf(page, { workspace: isOwnWorkspace.value ? undefined : workspace.value })}
    onClick={onFollow}
    {...(current ? { 'aria-current': 'page' as const } : {})}
  >
    {t(`page.${page}` as MessageName)}
  </a>
);

/** A sign-in at the provider ends there, too. */
export async function signOut(): Promise<void> {
  const atProvider = session.value?.sign_on_workspaces != null;
  await answerOf(api.DELETE('/admin/api/session'));
  announceSession();
  if (atProvider && provider !== undefined) location.assign(signOutUrl);
  else session.value = null;
}

/** The other workspaces that the sign-in at the provider opens. Each is a session of its own. */
function OtherWorkspaces() {
  const { sign_on_workspaces: opened, workspace_id: present } = session.value ?? {};
  const others = opened?.filter((each) => each !== present) ?? [];
  return others.length === 0 ? null : (
    <div class="row">
      <span class="soft">{t('account.workspaces')}</span>
      {others.map((each) => (
        <a key={each} href={signOnUrl({ workspace: each })} target="_self">
          {each}
        </a>
      ))}
    </div>
  );
}

function Account() {
  const leaving = useAction();
  return (
    <div class="account small">
      <div>
        <div class="name">{session.value?.user_email}</div>
        <div class="soft">{t('account.workspace', { workspace: session.value?.workspace_id ?? '' })}</div>
        <OtherWorkspaces />
      </div>
      <div class="account-choices">
        <ThemeSelect />
        <LanguageSelect />
      </div>
      <div class="row spread">
        <Button look="plain" busy={leaving.busy} onClick={() => leaving.run(signOut)}>
          {t('account.sign-out')}
        </Button>
        <a href="/docs" target="_blank" rel="noreferrer">
          {t('account.interface')}
        </a>
      </div>
    </div>
  );
}

function ThemeSelect() {
  const [theme, setTheme] = useState(document.documentElement.dataset['theme'] ?? '');
  const choose = (value: string): void => {
    setTheme(value);
    keepChoice('theme', value);
    if (value === '') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = value;
  };
  return (
    <Select
      label={t('account.theme')}
      value={theme}
      onValue={choose}
      choices={[
        { value: '', label: t('theme.system') },
        { value: 'light', label: t('theme.light') },
        { value: 'dark', label: t('theme.dark') },
      ]}
    />
  );
}

const LanguageSelect = () => (
  <Select
    label={t('account.language')}
    value={language}
    onValue={(value) => {
      keepChoice('language', value);
      location.reload();
    }}
    choices={LANGUAGES.map((each) => ({ value: each, label: LANGUAGE_NAMES[each] }))}
  />
);
