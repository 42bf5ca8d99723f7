// The URL is the state of a page: each view has an address that can be kept, sent and reloaded.

import { computed, signal } from '@preact/signals';
import { isPage, type PageName } from '../pages.ts';

const ROOT = '/admin';

type Place = { page: PageName | undefined; query: URLSearchParams };

const read = (): Place => {
  const name = location.pathname.slice(ROOT.length).replaceAll('/', '') || 'home';
  return { page: isPage(name) ? name : undefined, query: new URLSearchParams(location.search) };
};

/** The page and the query of the present URL. */
export const place = signal(read());
export const query = computed(() => place.value.query);

export type Query = Record<string, string | undefined>;

/** The address of a page; parameters that are undefined or empty are left out. */
export function hrefOf(page: PageName, parameters: Query = {}): string {
  const kept = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(kept as [string, string][]).toString();
  return `${ROOT}${page === 'home' ? '' : `/${page}`}${search === '' ? '' : `?${search}`}`;
}

/** The address of the present page with some parameters changed. */
export function hrefWith(changes: Query): string {
  const { page = 'home', query: present } = place.value;
  return hrefOf(page, { ...Object.fromEntries(present), ...changes });
}

/** `replace`: the present entry of the history becomes the new one, for changes that Back should not undo one by one. */
export function navigate(href: string, { replace = false } = {}): void {
  const before = place.value.page;
  history[replace ? 'replaceState' : 'pushState'](null, '', href);
  place.value = read();
  if (place.value.page !== before) scrollTo(0, 0);
}

/** Lets links of the portal change the page without loading it again. */
export function interceptLinks(): void {
  addEventListener('popstate', () => {
    place.value = read();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
      return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.hasAttribute('download')) return;
    if (link.origin !== location.origin || !/^\/admin(?:\/|$)/.test(link.pathname) || link.hash !== '')
      return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}
