// Changes of the catalogue in transactions: all those that arrive while the disk is busy share the next one, and its flush.

import { writeFile } from 'node:fs/promises';
import type { Catalogue } from './catalogue.ts';
import type { Disk } from './disk.ts';
import { S3Error } from './errors.ts';

type Pending = { change(): unknown; outcome: PromiseWithResolvers<unknown> };

export function createChanges(catalogue: Catalogue, disk: Disk, probe: string) {
  let pending: Pending[] = [];
  let deferred: (() => void)[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    while (pending.length > 0) {
      // SQLite writes on this thread: before it does, another thread has seen that the disk takes a write.
      const probed = await Promise.allSettled([disk.call(() => writeFile(probe, '.', { mode: 0o600 }))]);
      const batch = pending;
      pending = [];
      if (probed[0].status === 'fulfilled') commit(batch);
      else for (const { outcome } of batch) outcome.reject(probed[0].reason);
    }
    isRunning = false;
  }

  function commit(batch: readonly Pending[]): void {
    const settle: (() => void)[] = [];
    try {
      catalogue.transaction(() => {
        for (const change of deferred) change();
        for (const { change, outcome } of batch) {
          try {
            const result = change();
            settle.push(() => outcome.resolve(result));
          } catch (error) {
            if (!(error instanceof S3Error)) throw error;
            settle.push(() => outcome.reject(error));
          }
        }
      });
    } catch (error) {
      for (const { outcome } of batch) outcome.reject(error);
      return;
    }
    deferred = [];
    for (const each of settle) each();
  }

  return {
    /** Resolves when the change would survive a loss of power. A change that throws an S3Error has to do so before it writes. */
    make<Result>(change: () => Result): Promise<Result> {
      const outcome = Promise.withResolvers<unknown>();
      pending.push({ change, outcome });
      if (!isRunning) void run();
      return outcome.promise as Promise<Result>;
    },
    /** Makes a change with the next one. */
    later: (change: () => void): void => void deferred.push(change),
  };
}
