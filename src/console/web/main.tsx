// The portal's front end: the frame around the pages, and the sign-in that comes before them.

import { useSignalEffect } from '@preact/signals';
import { type ComponentType, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { PageName } from '../pages.ts';
import { answerOf, api } from './api.ts';
import { Loading, Notice } from './components/notice.tsx';
import { Page } from './components/page.tsx';
import './components/common.ts';
import { Frame } from './frame.tsx';
import { toError } from './resource.ts';
import { hrefOf, interceptLinks, place } from './router.ts';
import { returnToPlace } from './sign-on.ts';
import { announceSession, checkService, isOffline, otherTabs, session } from './state.ts';
import { loadTexts, t } from './text.ts';

type PageModule = { default: ComponentType };

/** Each page is a file of its own, loaded when the page is first opened. */
const PAGES: Partial<Record<PageName, () => Promise<PageModule>>> = {
  home: () => import('./pages/home.tsx'),
  keys: () => import('./pages/keys.tsx'),
  people: () => import('./pages/people.tsx'),
  workspaces: () => import('./pages/workspaces.tsx'),
  sessions: () => import('./pages/sessions.tsx'),
  usage: () => import('./pages/usage.tsx'),
  events: () => import('./pages/events.tsx'),
  audit: () => import('./pages/audit.tsx'),
  playground: () => import('./pages/playground.tsx'),
  models: () => import('./pages/models.tsx'),
  conversations: () => import('./pages/conversations.tsx'),
  agents: () => import('./pages/agents.tsx'),
  bots: () => import('./pages/bots.tsx'),
  knowledge: () => import('./pages/knowledge.tsx'),
  library: () => import('./pages/library.tsx'),
  health: () => import('./pages/health.tsx'),
  'sign-in': () => import('./pages/sign-in.tsx'),
  components: () => import('./pages/components.tsx'),
};

const loaded = new Map<PageName, ComponentType>();

/** The page's component once it is there; an error where its file cannot be loaded. */
function usePage(name: PageName | undefined): ComponentType | Error | undefined {
  const [failure, setFailure] = useState<Error>();
  const [, setArrived] = useState<PageName>();
  useEffect(() => {
    setFailure(undefined);
    const load = name === undefined ? undefined : PAGES[name];
    if (name === undefined || load === undefined || loaded.has(name)) return;
    load().then(
      (module) => {
        loaded.set(name, module.default);
        setArrived(name);
      },
      (error: unknown) => setFailure(toError(error)),
    );
  }, [name]);
  return failure ?? (name === undefined ? undefined : loaded.get(name));
}

function CurrentPage({ name }: { name: PageName | undefined }) {
  const Found = usePage(name);
  if (name === undefined || PAGES[name] === undefined) {
    return (
      <Page title={t('missing.title')}>
        <Notice title={t('missing.text')}>
          <a href={hrefOf('home')}>{t('missing.home')}</a>
        </Notice>
      </Page>
    );
  }
  // A new version of the service names its files anew: loading the page again brings them.
  if (Found instanceof Error) {
    return (
      <Page title={t('error.title')}>
        <Notice tone="bad" title={t('error.page')}>
          <a href={location.href} target="_self">
            {t('error.reload')}
          </a>
        </Notice>
      </Page>
    );
  }
  return Found === undefined ? <Loading /> : <Found />;
}

const PROBE_MS = 1500;

/** Asks until the service answers again; the pages then load by themselves. */
function useReconnect(): void {
  useSignalEffect(() => {
    if (!isOffline.value) return undefined;
    const timer = setInterval(() => void checkService(), PROBE_MS);
    return () => clearInterval(timer);
  });
}

async function readSession(): Promise<void> {
  try {
    const read = await answerOf(api.GET('/admin/api/session'));
    if (read.sign_on_workspaces !== null && returnToPlace()) announceSession();
    session.value = read;
  } catch (error) {
    if (toError(error).status !== 401) throw error;
  }
}

function App() {
  useReconnect();
  const offline = isOffline.value;
  const [failure, setFailure] = useState<Error>();
  useEffect(() => {
    if (offline || session.value !== undefined) return;
    setFailure(undefined);
    readSession().catch((error: unknown) => setFailure(toError(error)));
  }, [offline]);
  if (session.value === undefined) {
    return <main>{failure === undefined ? <Loading /> : <Notice tone="bad" title={failure.message} />}</main>;
  }
  const { page } = place.value;
  // The address stays, so that the same page opens after the sign-in.
  if (session.value === null || page === 'sign-in') return <CurrentPage name="sign-in" />;
  // Another person, or another key, begins with pages of their own.
  return (
    <Frame key={session.value.key_id} page={page}>
      <CurrentPage name={page} />
    </Frame>
  );
}

interceptLinks();
otherTabs.onmessage = () => void readSession().catch(() => undefined);
const root = document.getElementById('app');
if (root !== null) void loadTexts().then(() => render(<App />, root));
