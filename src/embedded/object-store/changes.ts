// Changes of the catalogue in transactions: all those that arrive while the disk is busy share the next one, and its flush.

import { writeFile } from 'node:fs/promises';
import type { Catalogue } from './catalogue.ts';
import type { Disk } from './disk.ts';
import { S3Error } from './errors.ts';

type Pending = { change(): unknown; outcome: PromiseWithResolvers<unknown> };

export class Changes {
  readonly #catalogue: Catalogue;
  readonly #disk: Disk;
  readonly #probe: string;
  #waiting: Pending[] = [];
  #deferred: (() => void)[] = [];
  #isRunning = false;

  constructor(catalogue: Catalogue, disk: Disk, probe: string) {
    this.#catalogue = catalogue;
    this.#disk = disk;
    this.#probe = probe;
  }

  /** Resolves when the change would survive a loss of power. A change that throws an S3Error has to do so before it writes. */
  make<Result>(change: () => Result): Promise<Result> {
    const outcome = Promise.withResolvers<unknown>();
    this.#waiting.push({ change, outcome });
    if (!this.#isRunning) void this.#run();
    return outcome.promise as Promise<Result>;
  }

  /** Makes a change with the next one. */
  later(change: () => void): void {
    this.#deferred.push(change);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      // SQLite writes on this thread: before it does, another thread has seen that the disk takes a write.
      const failure = await this.#disk
        .call(() => writeFile(this.#probe, '.', { mode: 0o600 }))
        .then(
          () => undefined,
          (error: unknown) => ({ error }),
        );
      const batch = this.#waiting;
      this.#waiting = [];
      if (failure === undefined) this.#commit(batch);
      else for (const { outcome } of batch) outcome.reject(failure.error);
    }
    this.#isRunning = false;
  }

  #commit(batch: readonly Pending[]): void {
    const refused = new Map<Pending, S3Error>();
    const results = new Map<Pending, unknown>();
    try {
      this.#catalogue.transaction(() => {
        for (const change of this.#deferred) change();
        for (const pending of batch) {
          try {
            results.set(pending, pending.change());
          } catch (error) {
            if (!(error instanceof S3Error)) throw error;
            refused.set(pending, error);
          }
        }
      });
    } catch (error) {
      for (const { outcome } of batch) outcome.reject(error);
      return;
    }
    this.#deferred = [];
    for (const [{ outcome }, error] of refused) outcome.reject(error);
    for (const [{ outcome }, result] of results) outcome.resolve(result);
  }
}
