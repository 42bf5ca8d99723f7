// The line of uploads: a few at once, each with its progress. It belongs to the browser's tab, not to a page, so that a person
// may look at other pages meanwhile.

import { effect, signal, untracked } from '@preact/signals';
import { toError } from './resource.ts';
import { checkService, isOffline, session } from './state.ts';
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

type Work = {
  file: File;
  workspace: string;
  folder: string;
  /** The person who chose the file. It is not stored under another person's name. */
  userId: string | undefined;
  controller: AbortController;
  /** The temporary key, once all bytes have arrived: a later try confirms it, so that the file is stored once. */
  tempKey?: string;
};

export const uploads = signal<readonly QueuedUpload[]>(readKept());
/** Changes after uploads were stored: lists watch it. */
export const storedCount = signal(0);
/** While files are stored one after another, lists are loaded again at most this often. */
const TOLD_EVERY_MS = 2000;
let isTold = true;

function tellStored(): void {
  if (!isTold) return;
  isTold = false;
  const tell = (): void => {
    isTold = true;
    storedCount.value++;
  };
  setTimeout(tell, running > 1 ? TOLD_EVERY_MS : 0);
}

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
    const userId = session.value?.user_id;
    work.set(id, { file, workspace, folder, userId, controller: new AbortController() });
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

export const cancelAll = (): void => {
  for (const { id, state } of uploads.value) if (state === 'waiting' || state === 'sending') cancel(id);
};

/** Whether the file is still there to be sent again. */
export const canRetry = (id: number): boolean => work.has(id);

/** Begins a failed or cancelled one again. */
export function retry(id: number): void {
  const found = work.get(id);
  if (found === undefined) return;
  work.set(id, { ...found, userId: session.value?.user_id, controller: new AbortController() });
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

/** No upload begins during an outage or without a session. The queue waits, and goes on by itself. */
const mayBegin = (): boolean => !isOffline.value && Boolean(session.value);

effect(() => {
  if (mayBegin()) untracked(startNext);
});

function startNext(): void {
  while (running < AT_ONCE && mayBegin()) {
    const next = uploads.value.find(({ state }) => state === 'waiting');
    if (next === undefined) return;
    const found = work.get(next.id);
    if (found === undefined) return;
    if (found.userId === session.value?.user_id) void run(next.id, found);
    else change(next.id, { state: 'failed', reason: t('uploads.other-person') });
  }
}

async function run(id: number, found: Work): Promise<void> {
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
  const onArrived = (tempKey: string): void => {
    found.tempKey = tempKey;
  };
  try {
    const { file, workspace, folder, tempKey, controller } = found;
    await upload(file, { workspace, folder, tempKey, signal: controller.signal, onProgress, onArrived });
    change(id, { state: 'done', sent: file.size });
    tellStored();
  } catch (error) {
    change(id, await explain(error, found));
  } finally {
    running--;
    startNext();
  }
}

/** The next state of an upload that has failed: after an outage and after the end of a sign-in, it waits and continues by itself. */
async function explain(error: unknown, found: Work): Promise<Partial<QueuedUpload>> {
  if (found.controller.signal.aborted) return { state: 'cancelled', speed: undefined };
  const { status, message } = toError(error);
  // The store may have gone with the service.
  if (status === 0) await checkService();
  if (status === 401 || isOffline.value) return { state: 'waiting', sent: 0, speed: undefined };
  delete found.tempKey;
  return { state: 'failed', reason: message };
}

/**
 * The list of this tab after a reload. The browser does not keep the files themselves: an upload that was not stored has failed,
 * and its file has to be chosen again.
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
