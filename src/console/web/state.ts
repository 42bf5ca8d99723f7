// What all pages share: who is signed in, which workspace they look at, and whether the service answers.

import { computed, signal } from '@preact/signals';
import type { components } from './api-types.d.ts';
import { query } from './router.ts';

type Session = components['schemas']['SessionRead'];

/** The person who is signed in; null where there is none, undefined until it is known. */
export const session = signal<Session | null | undefined>(undefined);

/** Whether the present lack of a sign-in was not the person's own doing: it was revoked, is too old, or ended in another tab. */
export const wasEnded = signal(false);

/** After a refusal for want of a sign-in. */
export function endSession(): void {
  if (session.value) wasEnded.value = true;
  session.value = null;
}

/** Tabs share the cookie: each is notified at once of a sign-in or sign-out in another. */
export const otherTabs = new BroadcastChannel('atrium.session');
export const announceSession = (): void => otherTabs.postMessage(null);

/** Whether the last call got no answer at all. */
export const isOffline = signal(false);

/** Asks whether the service answers, and keeps what it found. */
export async function checkService(): Promise<void> {
  const answer = await fetch('/healthz').catch(() => undefined);
  isOffline.value = answer?.ok !== true;
}

/** The workspace of the page: the one that the URL names, else that of the sign-in. */
export const workspace = computed(() => query.value.get('workspace') ?? session.value?.workspace_id ?? '');

/** Whether this is the workspace of the sign-in: only there do documents, models, conversations and events open. */
export const isOwnWorkspace = computed(() => workspace.value === session.value?.workspace_id);

/** Whether the sign-in administers its workspace; everybody else sees their own part. */
export const isAdmin = computed(() => isOperator.value || (session.value?.scopes.includes('admin') ?? false));

export const isOperator = computed(() => session.value?.scopes.includes('operator') ?? false);

export type Scope = Session['scopes'][number];
export const hasScope = (scope: Scope): boolean => session.value?.scopes.includes(scope) ?? false;

const YEAR_SECONDS = 31_536_000;

/** Keeps a choice of this browser where the server reads it, so that a page begins with it. */
export const keepChoice = (name: 'theme' | 'language', value: string): void => {
  const age = value === '' ? 0 : YEAR_SECONDS;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser.
  document.cookie = `atrium_${name}=${value}; Path=/admin; Max-Age=${age}; SameSite=Lax`;
};
