// Single sign-on: the provider that the server names in the page, and the way there and back.

import { hrefOf, navigate, place } from './router.ts';

const meta = document.querySelector<HTMLMetaElement>('meta[name="atrium-sign-on"]');

/** The provider at which people can sign in; undefined where there is none. */
export const provider =
  meta === null ? undefined : { name: meta.content, url: meta.dataset['url'] ?? '/admin/sign-on' };

const RETURN_KEY = 'atrium_return';

/** Remembers in this tab the view that a person wanted, because the provider leads back to the first page. */
export function keepPlace(): void {
  const wanted = place.value.page === 'sign-in' ? hrefOf('home') : location.pathname + location.search;
  sessionStorage.setItem(RETURN_KEY, wanted);
}

/** Goes on to that view, once; whether the tab has come back from the provider. */
export function returnToPlace(): boolean {
  const wanted = sessionStorage.getItem(RETURN_KEY);
  sessionStorage.removeItem(RETURN_KEY);
  if (wanted !== null && place.value.page === 'home') navigate(wanted, { replace: true });
  return wanted !== null;
}

/** The address that ends the session at the provider. */
export const signOutUrl = '/admin/sign-on/end';

/** The address that signs in at the provider: in this workspace, or as somebody else. */
export function signOnUrl(options: { workspace?: string; prompt?: 'login' } = {}): string {
  const search = new URLSearchParams(options).toString();
  return `${provider?.url ?? ''}${search === '' ? '' : `?${search}`}`;
}
