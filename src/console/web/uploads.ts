// The line of uploads: a few at once, each with its progress. It belongs to the browser's tab, not to a page, so that a person
// may look at other pages meanwhile.

import { signal } from '@preact/signals';
import { toError } from './resource.ts';
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

const AT_ONCE = 3;
/** Progress is shown at most this often: with hundreds of files, each event would be a rendering. */
const SHOWN_EVERY_MS = 200;

type Work = { file: File; workspace: string; folder: string; controller: AbortController; startedAt: number };

export const uploads = signal<readonly QueuedUpload[]>([]);
/** How many were stored since the page was loaded: lists watch it. */
export const storedCount = signal(0);

const work = new Map<number, Work>();
let lastId = 0;
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

/** Removes what is done or was cancelled; what failed stays until somebody has looked at it. */
export function clearDone(): void {
  const kept = uploads.value.filter(({ state }) => state !== 'done' && state !== 'cancelled');
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

// A tab that is closed while files are on their way asks first.
addEventListener('beforeunload', (event) => {
  if (uploads.value.some(({ state }) => state === 'waiting' || state === 'sending')) event.preventDefault();
});
