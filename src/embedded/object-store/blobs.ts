// The bytes of objects: immutable files with random names, in a folder that holds only whole ones.
//
// A body streams into `staging/`, is flushed (fsync), moves into `blobs/` (rename) and that folder is
// flushed in turn. A file in `blobs/` is therefore complete and on the disk, whatever happens; it becomes
// an object only when the catalogue names it. What a crash leaves over is removed at the next start:
// all of staging, and every blob that the catalogue does not name.
import { openSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createDigest, type DigestAlgorithm } from './checksums.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';

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

export interface Blobs {
  /** Resolves when the content is on the disk. Throws EntityTooLarge, and what fill and check throw. */
  receive(options: ReceiveOptions): Promise<Blob>;
  /** A file descriptor that the caller closes. It stays readable after the blob is removed. */
  open(id: string): number;
  /** Never rejects: what can't be removed now is removed at the next start. */
  remove(id: string): Promise<void>;
  /** To be called before the first receive: drops what a crash left. */
  recover(isNamed: (id: string) => boolean): Promise<void>;
  isEmpty(): Promise<boolean>;
  close(): Promise<void>;
}

export async function openBlobs(directory: string): Promise<Blobs> {
  const staging = join(directory, 'staging');
  const kept = join(directory, 'blobs');
  for (const folder of [staging, kept]) await mkdir(folder, { recursive: true, mode: 0o700 });
  const keptFolder = await open(kept, 'r');
  const collectGarbage = createCollector();

  async function receive(options: ReceiveOptions): Promise<Blob> {
    const id = crypto.randomUUID();
    const path = join(staging, id);
    const file = await open(path, 'wx', 0o600);
    const writer = createWriter(file, options, collectGarbage);
    try {
      await options.fill(writer.sink);
      const content = writer.content();
      options.check(content);
      await rename(path, join(kept, id));
      await keptFolder.sync();
      return { id, ...content };
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      writer.sink.destroy();
      await writer.settled();
      await file.close();
    }
  }

  return {
    receive,
    open: (id) => openSync(join(kept, id), 'r'),
    remove: (id) => rm(join(kept, id), { force: true }).catch(() => undefined),
    recover: async (isNamed) => {
      for (const name of await readdir(staging)) await rm(join(staging, name), { force: true });
      for (const name of await readdir(kept)) if (!isNamed(name)) await rm(join(kept, name), { force: true });
    },
    isEmpty: async () => (await readdir(kept)).length === 0,
    close: () => keptFolder.close(),
  };
}

interface Writer {
  readonly sink: Writable;
  content(): Content;
  /** Resolves when no operation on the file is under way any more. */
  settled(): Promise<unknown>;
}

/**
 * Counts, digests and writes; digests a buffer while the disk takes it. Finishes when all of it is
 * flushed: earlier parts are flushed on the way, so that the end is not a pile of dirty pages.
 */
function createWriter(
  file: FileHandle,
  options: ReceiveOptions,
  onReceived: (sizeBytes: number) => void,
): Writer {
  const digests = new Map(options.digests.map((name) => [name, createDigest(name)] as const));
  const flush = createFlush(file);
  let sizeBytes = 0;
  let writing: Promise<void> = Promise.resolve();

  async function take(data: Buffer): Promise<void> {
    const position = sizeBytes;
    sizeBytes += data.length;
    if (sizeBytes > options.sizeBytesMax) {
      throw new S3Error('EntityTooLarge', { details: { MaxSizeAllowed: String(options.sizeBytesMax) } });
    }
    const written = writeAll(file, data, position);
    for (const digest of digests.values()) digest.update(data);
    await written;
    flush.advance(data.length);
    onReceived(data.length);
  }

  const sink = new Writable({
    highWaterMark: limits.writeBufferBytes,
    writev(chunks, done) {
      const buffers = chunks.map(({ chunk }): Buffer => chunk);
      writing = take(buffers.length === 1 && buffers[0] !== undefined ? buffers[0] : Buffer.concat(buffers));
      writing.then(() => done(), done);
    },
    final(done) {
      flush.finish().then(() => done(), done);
    },
  });
  return {
    sink,
    content: () => ({
      sizeBytes,
      digests: new Map([...digests].map(([name, digest]) => [name, digest.finish()])),
    }),
    settled: () => Promise.allSettled([writing, flush.running()]),
  };
}

/** A single write may take less than it was given. */
async function writeAll(file: FileHandle, data: Buffer, position: number): Promise<void> {
  let offset = 0;
  while (offset < data.length) {
    const { bytesWritten } = await file.write(data, offset, data.length - offset, position + offset);
    offset += bytesWritten;
  }
}

/** At most one flush at a time. A failed one is reported once by the kernel, so it is kept for the end. */
function createFlush(file: FileHandle) {
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
        .then(() => file.datasync())
        .finally(() => {
          isRunning = false;
        });
      running.catch(() => undefined);
    },
    running: () => running,
    finish(): Promise<void> {
      running = running.then(() => file.sync());
      return running;
    },
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
