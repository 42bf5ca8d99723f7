// The bytes of objects: immutable files with random names, in a folder that holds only whole ones.
//
// A body streams into `staging/`, is flushed (fsync), moves into `blobs/` (rename) and that folder is
// flushed in turn. A file in `blobs/` is therefore complete and on the disk, whatever happens; it becomes
// an object only when the catalogue names it. The next start cleans up after a crash: all of staging is removed;
// a blob that the catalogue does not name moves into `aside/`, because the catalogue may be wrong. It is restored
// as soon as it is named again, and is removed later otherwise.

import { openSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { syncFolder } from '../../core/durable.ts';
import { createDigest, type DigestAlgorithm } from './checksums.ts';
import type { DiskCalls } from './disk-calls.ts';
import { S3Error } from './errors.ts';
import { createFlush, createFlushedMoves } from './group-flush.ts';
import { limits } from './limits.ts';
import { writeAll } from './snapshot.ts';

export interface Content {
  readonly sizeBytes: number;
  readonly digests: ReadonlyMap<DigestAlgorithm, Buffer>;
}

export interface Blob extends Content {
  readonly id: string;
}

interface ReceiveOptions {
  readonly sizeBytesMax: number;
  readonly digests: readonly DigestAlgorithm[];
  /** Writes the content; the blob is kept when it resolves, and no trace of it when it rejects. */
  readonly fill: (sink: Writable) => Promise<void>;
  /** Last say, before the blob is kept: throws to refuse it. */
  readonly check: (content: Content) => void;
}

export type Blobs = Awaited<ReturnType<typeof openBlobs>>;

/** The catalogue's records of blobs. */
export interface Names {
  isNamed(id: string): boolean;
  /** Why it has no name is known: it was being written or removed. */
  isPassing(id: string): boolean;
  readonly unexplainedMax: number;
}

export interface Recovery {
  readonly setAside: number;
  readonly unexplained: number;
  readonly returned: number;
}

export class TooManyUnnamed extends Error {
  constructor(unnamed: number, all: number) {
    super(`${unnamed} of ${all} files have no name in the catalogue`);
  }
}

/** A file that holds the bytes of a blob for as long as an object has it. */
export const blobPath = (directory: string, id: string): string => join(directory, 'blobs', id);

export async function openBlobs(directory: string, disk: DiskCalls) {
  const staging = join(directory, 'staging');
  const kept = join(directory, 'blobs');
  const aside = join(directory, 'aside');
  for (const folder of [staging, kept, aside]) await mkdir(folder, { recursive: true, mode: 0o700 });
  const keptFolder = await open(kept, 'r');
  const collectGarbage = createCollector();
  const moveIn = createFlushedMoves(() => disk.call(() => keptFolder.sync()));
  /** Whether it was removed: never rejects; the next start finds files that could not be removed. */
  const remove = (id: string): Promise<boolean> =>
    disk
      .call(() => rm(join(kept, id), { force: true }))
      .then(
        () => true,
        () => false,
      );

  /**
   * Resolves when the content is on the disk; `announce` is called before a blob is there. Throws EntityTooLarge, and
   * what fill and check throw.
   */
  async function receive(options: ReceiveOptions, announce: (id: string) => void): Promise<Blob> {
    const id = crypto.randomUUID();
    const path = join(staging, id);
    const file = await disk.call(() => open(path, 'wx', 0o600));
    const writer = createWriter(file, options, { disk, onReceived: collectGarbage });
    try {
      await options.fill(writer.sink);
      const content = writer.content();
      options.check(content);
      announce(id);
      await moveIn(() => disk.call(() => rename(path, join(kept, id))));
      return { id, ...content };
    } catch (error) {
      await writer.settled();
      await remove(id);
      // If the file stays, the next start removes it.
      await disk.call(() => rm(path, { force: true })).catch(() => undefined);
      throw error;
    } finally {
      writer.sink.destroy();
      await writer.settled();
      await file.close();
    }
  }

  /** As `receive`, for whole bodies: `announce` is called once for all, and its promise ends before they are there. */
  async function receiveAll<Given extends { readonly body: Uint8Array }>(
    all: readonly Given[],
    announce: (ids: readonly string[]) => Promise<void>,
  ): Promise<{ given: Given; blob: Blob }[]> {
    const received = all.map((given) => ({ given, blob: toBlob(given.body) }));
    const ids = received.map(({ blob }) => blob.id);
    try {
      await allOf(received, ({ given: { body }, blob: { id } }) =>
        disk.call(() => writeFile(join(staging, id), body, { flag: 'wx', mode: 0o600, flush: true })),
      );
      await announce(ids);
      await moveIn(() => allOf(ids, (id) => disk.call(() => rename(join(staging, id), join(kept, id)))));
      return received;
    } catch (error) {
      for (const id of ids) {
        await remove(id);
        await disk.call(() => rm(join(staging, id), { force: true })).catch(() => undefined);
      }
      throw error;
    }
  }

  /** Must be called before the first receive: cleans up after a crash. Throws TooManyUnnamed before any change. */
  async function recover({ isNamed, isPassing, unexplainedMax }: Names): Promise<Recovery> {
    const all = await readdir(kept);
    const unnamed = all.filter((id) => !isNamed(id));
    const unexplained = unnamed.filter((id) => !isPassing(id)).length;
    if (unexplained > unexplainedMax) throw new TooManyUnnamed(unexplained, all.length);
    for (const name of await readdir(staging)) await rm(join(staging, name), { force: true });
    const returning = (await readdir(aside)).filter(isNamed);
    for (const id of returning) await rename(join(aside, id), join(kept, id));
    const now = new Date();
    for (const id of unnamed) {
      await utimes(join(kept, id), now, now);
      await rename(join(kept, id), join(aside, id));
    }
    if (returning.length + unnamed.length > 0) {
      await syncFolder(aside);
      await keptFolder.sync();
    }
    return { setAside: unnamed.length, unexplained, returned: returning.length };
  }

  return {
    receive,
    receiveAll,
    /** A file descriptor that the caller closes. It stays readable after the blob is removed. */
    open: (id: string) => openSync(blobPath(directory, id), 'r'),
    remove,
    recover,
    /** Removes files that have been set aside for longer. */
    expire: async (retentionMs: number) => {
      const before = Date.now() - retentionMs;
      for (const id of await readdir(aside)) {
        const path = join(aside, id);
        if ((await stat(path)).mtimeMs < before) await rm(path, { force: true });
      }
    },
    isEmpty: async () => (await readdir(kept)).length === 0,
    /** Resolves when the disk has taken a byte. */
    tryWrite: () => disk.call(() => writeFile(join(directory, '.probe'), '.', { mode: 0o600 })),
    close: () => keptFolder.close(),
  };
}

function toBlob(body: Uint8Array): Blob {
  const md5 = createDigest('md5');
  md5.update(body);
  return { id: crypto.randomUUID(), sizeBytes: body.length, digests: new Map([['md5', md5.finish()]]) };
}

/** Rejects with the first failure once all have ended. */
async function allOf<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(items.map(run));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/**
 * Counts, digests and writes; digests a buffer while the disk takes it. Finishes when all of it is
 * flushed: earlier parts are flushed on the way, so that the end is not a pile of dirty pages.
 */
function createWriter(
  file: FileHandle,
  options: ReceiveOptions,
  { disk, onReceived }: { disk: DiskCalls; onReceived: (sizeBytes: number) => void },
) {
  const digests = new Map(options.digests.map((name) => [name, createDigest(name)] as const));
  const flush = createFlush(file, disk);
  let sizeBytes = 0;
  let writing: Promise<void> = Promise.resolve();

  async function take(data: Buffer): Promise<void> {
    const position = sizeBytes;
    sizeBytes += data.length;
    if (sizeBytes > options.sizeBytesMax)
      throw new S3Error('EntityTooLarge', { details: { MaxSizeAllowed: String(options.sizeBytesMax) } });
    const written = disk.call(() => writeAll(file, data, position));
    writing = written;
    for (const digest of digests.values()) digest.update(data);
    await disk.unlessHung(written);
    flush.advance(data.length);
    onReceived(data.length);
  }

  const sink = new Writable({
    highWaterMark: limits.writeBufferBytes,
    writev(chunks, done) {
      const buffers = chunks.map(({ chunk }): Buffer => chunk);
      const [only] = buffers;
      take(buffers.length === 1 && only !== undefined ? only : Buffer.concat(buffers)).then(
        () => done(),
        done,
      );
    },
    final(done) {
      disk.unlessHung(flush.finish()).then(() => done(), done);
    },
  });
  return {
    sink,
    content: (): Content => ({
      sizeBytes,
      digests: new Map([...digests].map(([name, digest]) => [name, digest.finish()])),
    }),
    /** Resolves when no operation on the file is under way any more. */
    settled: () => Promise.allSettled([writing, flush.running()]),
  };
}

/** Received buffers are freed by the collector, which does not see their weight; this reminds it. */
function createCollector(): (sizeBytes: number) => void {
  let uncollectedBytes = 0;
  return (sizeBytes) => {
    uncollectedBytes += sizeBytes;
    if (uncollectedBytes < limits.uncollectedBytesMax) return;
    uncollectedBytes = 0;
    Bun.gc(true);
  };
}
