// The line of uploads: a few at once, each with its progress. It belongs to the browser's tab, not to a page, so that a person
// may look at other pages meanwhile.

import { signal } from '@preact/signals';
import { toError } from './resource.ts';
import { t } from './text.ts';
import { upload } from './upload.ts';

export type UploadState = 'waiting' | 'sending' | 'done' | 'failed' | 'cancelled';
export type QueuedUpload = {
  id: number;
  name: string;
  size: number;
  sent: number;
  state: UploadState;
  /** Why it failed. */
  reason: string | undefined;
  /** Bytes a second, of a running one. */
  speed: number | undefined;
};

const PLACE = 'atrium.uploads';
const AT_ONCE = 3;
/** Progress is shown at most this often: with hundreds of files, each event would be a rendering. */
const SHOWN_EVERY_MS = 200;

type Work = { file: File; workspace: string; folder: string; controller: AbortController; startedAt: number };

export const uploads = signal<readonly QueuedUpload[]>(readKept());
/** How many were stored since the page was loaded: lists watch it. */
export const storedCount = signal(0);

const work = new Map<number, Work>();
let lastId = Math.max(0, ...uploads.value.map(({ id }) => id));
let running = 0;

const change = (id: number, changes: Partial<QueuedUpload>): void => {
  uploads.value = uploads.value.map((each) => (each.id === id ? { ...each, ...changes } : each));
};

export function enqueue(
  files: readonly File[],
  { workspace, folder }: { workspace: string; folder: string },
): void {
  const added = files.map((file) => {
    const id = ++lastId;
    work.set(id, { file, workspace, folder, controller: new AbortController(), startedAt: 0 });
    return {
      id,
      name: file.name,
      size: file.size,
      sent: 0,
      state: 'waiting',
      reason: undefined,
      speed: undefined,
    } as const;
  });
  uploads.value = [...uploads.value, ...added];
  startNext();
}

export function cancel(id: number): void {
  work.get(id)?.controller.abort();
  const queued = uploads.value.find((each) => each.id === id);
  if (queued?.state === 'waiting') change(id, { state: 'cancelled' });
}

/** Whether the file is still there to be sent again. */
export const canRetry = (id: number): boolean => work.has(id);

/** Begins a failed or cancelled one again. */
export function retry(id: number): void {
  const found = work.get(id);
  if (found === undefined) return;
  work.set(id, { ...found, controller: new AbortController() });
  change(id, { state: 'waiting', sent: 0, reason: undefined, speed: undefined });
  startNext();
}

export const retryFailed = (): void => {
  for (const { id, state } of uploads.value) if (state === 'failed') retry(id);
};

/** Removes what is done or was cancelled, and what cannot be tried again; other failures stay. */
export function clearDone(): void {
  const kept = uploads.value.filter(
    ({ id, state }) => state !== 'done' && state !== 'cancelled' && work.has(id),
  );
  const ids = new Set(kept.map(({ id }) => id));
  for (const id of work.keys()) if (!ids.has(id)) work.delete(id);
  uploads.value = kept;
}

function startNext(): void {
  while (running < AT_ONCE) {
    const next = uploads.value.find(({ state }) => state === 'waiting');
    if (next === undefined) return;
    void run(next.id);
  }
}

async function run(id: number): Promise<void> {
  const found = work.get(id);
  if (found === undefined) return;
  running++;
  change(id, { state: 'sending' });
  const startedAt = performance.now();
  let shownAt = 0;
  const onProgress = (sent: number): void => {
    const now = performance.now();
    if (now - shownAt < SHOWN_EVERY_MS && sent < found.file.size) return;
    shownAt = now;
    change(id, { sent, speed: (sent / Math.max(1, now - startedAt)) * 1000 });
  };
  try {
    const { workspace, folder, controller } = found;
    await upload(found.file, { workspace, folder, signal: controller.signal, onProgress });
    change(id, { state: 'done', sent: found.file.size });
    storedCount.value++;
  } catch (error) {
    if (found.controller.signal.aborted) change(id, { state: 'cancelled' });
    else change(id, { state: 'failed', reason: toError(error).message });
  } finally {
    running--;
    startNext();
  }
}

/**
 * The list of this tab after a reload. The browser has forgotten the files themselves: what was not stored has failed, and is
 * to be chosen again.
 */
function readKept(): readonly QueuedUpload[] {
  try {
    const kept = JSON.parse(sessionStorage.getItem(PLACE) ?? '[]') as QueuedUpload[];
    return kept.map((each) =>
      each.state === 'done' || each.state === 'cancelled'
        ? each
        : { ...each, state: 'failed', sent: 0, speed: undefined, reason: t('uploads.interrupted') },
    );
  } catch {
    return [];
  }
}

addEventListener('pagehide', () => sessionStorage.setItem(PLACE, JSON.stringify(uploads.value)));

// A tab that is closed while files are on their way asks first.
addEventListener('beforeunload', (event) => {
  if (uploads.value.some(({ state }) => state === 'waiting' || state === 'sending')) event.preventDefault();
});
