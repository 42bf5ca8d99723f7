// Views of the library that a person keeps in this browser: a name, and the query of the page.

import { signal } from '@preact/signals';

export type SavedView = { name: string; search: string };

const PLACE = 'atrium.library.views';
const VIEWS_MAX = 30;

const isView = (value: unknown): value is SavedView =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as SavedView).name === 'string' &&
  typeof (value as SavedView).search === 'string';

/** What the browser keeps may be missing, or have been changed by hand. */
function read(): readonly SavedView[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PLACE) ?? '[]');
    return Array.isArray(kept) ? kept.filter(isView).slice(0, VIEWS_MAX) : [];
  } catch {
    return [];
  }
}

export const savedViews = signal(read());

function write(views: readonly SavedView[]): void {
  savedViews.value = views.slice(0, VIEWS_MAX);
  localStorage.setItem(PLACE, JSON.stringify(savedViews.value));
}

/** A view of the same name is replaced. */
export const saveView = (view: SavedView): void =>
  write([view, ...savedViews.value.filter(({ name }) => name !== view.name)]);

export const forgetView = (name: string): void =>
  write(savedViews.value.filter((view) => view.name !== name));
