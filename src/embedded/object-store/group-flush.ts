import type { FileHandle } from 'node:fs/promises';
import type { DiskCalls } from './disk-calls.ts';
import { limits } from './limits.ts';

/** At most one flush runs and one waits; the waiting one serves all who call meanwhile. */
export function createGroupFlush(flush: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let waiting: Promise<void> | undefined;
  function start(): Promise<void> {
    running = flush().finally(() => {
      running = undefined;
    });
    return running;
  }
  return () => {
    if (waiting !== undefined) return waiting;
    if (running === undefined) return start();
    waiting = running
      .catch(() => undefined)
      .then(() => {
        waiting = undefined;
        return start();
      });
    return waiting;
  };
}

/**
 * For moves into a folder, which `flush` flushes. Each resolves when it would survive a loss of power. A flush that fails may
 * take along what was moved while it ran, of which the next one says nothing: so that is refused, too.
 */
export function createFlushedMoves(flush: () => Promise<void>): (move: () => Promise<void>) => Promise<void> {
  let lastFailure: { error: unknown } | undefined;
  const flushed = createGroupFlush(() =>
    flush().catch((error: unknown) => {
      lastFailure = { error };
      throw error;
    }),
  );
  return async (move) => {
    const failureBefore = lastFailure;
    await move();
    await flushed();
    if (lastFailure !== undefined && lastFailure !== failureBefore) throw lastFailure.error;
  };
}

/** Flushes a file while it is written: at most one flush at a time. A failed one is reported once by the kernel, so it is kept for the end. */
export function createFlush(file: FileHandle, disk: DiskCalls) {
  let unsyncedBytes = 0;
  let isRunning = false;
  let running: Promise<void> = Promise.resolve();
  return {
    advance(sizeBytes: number): void {
      unsyncedBytes += sizeBytes;
      if (isRunning || unsyncedBytes < limits.unsyncedBytesMax) return;
      unsyncedBytes = 0;
      isRunning = true;
      running = running
        .then(() => disk.call(() => file.datasync()))
        .finally(() => {
          isRunning = false;
        });
      running.catch(() => undefined);
    },
    running: () => running,
    finish(): Promise<void> {
      running = running.then(() => disk.call(() => file.sync()));
      return running;
    },
  };
}
