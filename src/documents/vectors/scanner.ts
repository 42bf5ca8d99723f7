// The threads that hold vectors, each a share of every space, and scan them. Scans that wait are done together, because the
// time of a scan is mostly that of reading the memory.

import { join } from 'node:path';
import type { Logger } from '../../core/logger.ts';
import { createThread, type Thread } from '../../core/thread.ts';
import { loadModule } from '../../infra/wasm/module.ts';
import { SCANS_MAX, THREAD_ANSWER_MS_MAX, THREAD_BYTES_MAX, THREAD_OPEN_MS_MAX } from './limits.ts';
import { byScore, type Place } from './place.ts';
import type { Scan } from './scratch.ts';
import type { VectorCalls, VectorThreadSettings } from './thread.ts';

/** Compiled from assembly/ by the start and test commands. */
const KERNEL = join(import.meta.dir, '../../../build/vectors.wasm');

type Shard = { thread: Thread<VectorCalls, undefined>; bytes: number; vectors: number };
type Waiting = { space: string; scan: Scan } & PromiseWithResolvers<Place[]>;

export type Scanner = ReturnType<typeof createScanner>;

/** `onLost`: a thread has ended, and what the threads held is to be loaded again. */
export function createScanner(options: { threads: number; bytesMax: number; onLost(): void; log: Logger }) {
  const { log } = options;
  const waiting: Waiting[] = [];
  let shards: Promise<Shard[]> | undefined;
  let opened: Shard[] = [];
  let scanning = false;
  let ended = false;
  const metrics = { scans: 0, scanMs: 0 };

  async function open(): Promise<Shard[]> {
    const module = await loadModule(KERNEL);
    const bytesMax = Math.min(THREAD_BYTES_MAX, Math.ceil(options.bytesMax / options.threads));
    const created = Array.from({ length: options.threads }, (_, index): Shard => {
      const settings = { module, bytesMax, share: { index, count: options.threads } };
      const thread = createThread<VectorCalls, undefined>({
        entry: new URL('./thread.ts', import.meta.url),
        settings: settings satisfies VectorThreadSettings,
        openMsMax: THREAD_OPEN_MS_MAX,
        onError: (reason) => log.error({ job: 'documents.vectors', reason }, 'a thread failed'),
        onEnd: () => lose(created),
      });
      return { thread, bytes: 0, vectors: 0 };
    });
    try {
      await Promise.all(created.map(({ thread }) => thread.open()));
    } catch (error) {
      for (const { thread } of created) thread.end();
      throw error;
    }
    return created;
  }

  /** Shares of one state belong together: where one is lost, all begin anew. */
  function lose(lost: readonly Shard[]): void {
    if (ended || opened !== lost) return;
    log.error({ job: 'documents.vectors' }, 'a thread has ended by itself; its vectors are loaded again');
    opened = [];
    shards = undefined;
    for (const { thread } of lost) thread.end();
    options.onLost();
  }

  async function ready(): Promise<Shard[]> {
    if (ended) throw new Error('the threads of vectors have been ended');
    shards ??= open();
    try {
      opened = await shards;
      return opened;
    } catch (error) {
      shards = undefined;
      throw error;
    }
  }

  /** Returns the bytes of the space afterwards. */
  async function tell<Name extends 'add' | 'remove' | 'forget'>(
    name: Name,
    ...input: Parameters<VectorCalls[Name]>
  ): Promise<number> {
    const sizes = await Promise.all(
      (await ready()).map(async (shard) => {
        const { space, ...all } = await shard.thread.ask(name, ...input, THREAD_ANSWER_MS_MAX);
        Object.assign(shard, all);
        return space;
      }),
    );
    return sizes.reduce((sum, bytes) => sum + bytes, 0);
  }

  async function scanWaiting(): Promise<void> {
    if (scanning) return;
    scanning = true;
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const { space } = first;
      const batch = waiting.filter((each) => each.space === space).slice(0, SCANS_MAX);
      for (const each of batch) waiting.splice(waiting.indexOf(each), 1);
      const startedAt = performance.now();
      try {
        const scans = batch.map(({ scan }) => scan);
        const answers = await Promise.all(
          (await ready()).map(({ thread }) => thread.ask('scan', { space, scans }, THREAD_ANSWER_MS_MAX)),
        );
        for (const [index, { scan, resolve }] of batch.entries())
          resolve(
            merge(
              answers.map((each) => each[index] ?? []),
              scan.limit,
            ),
          );
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      metrics.scans += batch.length;
      metrics.scanMs += performance.now() - startedAt;
    }
    scanning = false;
  }

  return {
    add: (space: string, dimensions: number, rows: Uint8Array) => tell('add', { space, dimensions, rows }),
    remove: (space: string, documents: readonly string[]) => tell('remove', { space, documents }),
    forget: (space: string) => tell('forget', { space }),
    /** The best of all that the space holds, best first. */
    scan(space: string, scan: Scan): Promise<Place[]> {
      const entry = { space, scan, ...Promise.withResolvers<Place[]>() };
      waiting.push(entry);
      void scanWaiting();
      return entry.promise;
    },
    end(): void {
      ended = true;
      for (const { thread } of opened) thread.end();
    },
    metrics: () => ({
      ...metrics,
      bytes: opened.reduce((sum, { bytes }) => sum + bytes, 0),
      vectors: opened.reduce((sum, { vectors }) => sum + vectors, 0),
    }),
  };
}

const merge = (shares: readonly Place[][], limit: number): Place[] =>
  shares.length === 1 ? (shares[0] ?? []) : shares.flat().sort(byScore).slice(0, limit);
