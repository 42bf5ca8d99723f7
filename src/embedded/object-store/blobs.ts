// The bytes of objects: files with random names, which never change once they are whole.

import { openSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { DiskHangs } from '../../core/disk-fault.ts';
import type { Digests } from './digests.ts';
import type { Disk } from './disk.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';

export type Blob = { id: string; sizeBytes: number; md5: string };

type Receive = {
  sizeBytesMax: number;
  digests: Digests;
  /** Writes the content; the blob is kept when it resolves, and no trace of it when it rejects. */
  fill(sink: Writable): Promise<void>;
  /** Called before the blob is kept: throws to refuse it. */
  check?(sizeBytes: number): void;
};

type Recording = { begin(id: string): Promise<void>; end(id: string): void };

/** `directory` has to be there. */
export function createBlobs(directory: string, disk: Disk) {
  const pathOf = (id: string): string => join(directory, id);

  const remove = async (id: string): Promise<void> => {
    await disk.call(() => rm(pathOf(id), { force: true }));
  };

  /**
   * Streams content into a new file. When it resolves, the file would survive a loss of power. `record.begin` records that nothing names
   * the file, before it is made; `record.end` that it is gone again.
   */
  async function receive(options: Receive, record: Recording): Promise<Blob> {
    const id = crypto.randomUUID();
    await record.begin(id);
    const files: FileHandle[] = [];
    const openFile = (path: string, flags: string): Promise<FileHandle> =>
      openInTime(disk, () => open(path, flags, 0o600), files);
    let writer: ReturnType<typeof createWriter> | undefined;
    const close = async (): Promise<void> => {
      writer?.sink.destroy();
      await writer?.settled();
      await Promise.all(files.map((file) => file.close()));
    };
    try {
      // Opened first: the system reports an error of the folder to each descriptor that was open before it.
      const folder = await openFile(directory, 'r');
      writer = createWriter(await openFile(pathOf(id), 'wx'), options, disk);
      await options.fill(writer.sink);
      const sizeBytes = writer.sizeBytes();
      options.check?.(sizeBytes);
      const md5 = options.digests.finish();
      await disk.call(() => folder.sync());
      await close();
      return { id, sizeBytes, md5 };
    } catch (error) {
      const cleaned = close()
        .then(() => remove(id))
        .then(() => record.end(id))
        // If the file stays, the next start removes it.
        .catch(() => undefined);
      // A call of a disk that hangs may use the file for long.
      if (!(error instanceof DiskHangs)) await cleaned;
      throw error;
    }
  }

  return {
    receive,
    remove,
    /** A file descriptor that the caller closes. It stays readable after the blob is removed. */
    open: (id: string): number => openSync(pathOf(id), 'r'),
  };
}

/** Adds the file to `files`; one that is opened after its caller has given up is closed. */
async function openInTime(
  disk: Disk,
  openFile: () => Promise<FileHandle>,
  files: FileHandle[],
): Promise<FileHandle> {
  let opening: Promise<FileHandle> | undefined;
  try {
    const file = await disk.call(() => {
      opening = openFile();
      return opening;
    });
    files.push(file);
    return file;
  } catch (error) {
    void opening?.then((file) => file.close()).catch(() => undefined);
    throw error;
  }
}

/**
 * Counts, digests and writes; digests a buffer while the disk takes it. Finishes when all of it is flushed: earlier parts are flushed
 * on the way, so that the last flush is short.
 */
function createWriter(file: FileHandle, { sizeBytesMax, digests }: Receive, disk: Disk) {
  let sizeBytes = 0;
  let unsyncedBytes = 0;
  let last: Promise<unknown> = Promise.resolve();
  const call = <Result>(start: () => Promise<Result>): Promise<Result> =>
    disk.call(() => {
      const running = start();
      last = running;
      return running;
    });

  async function take(data: Buffer): Promise<void> {
    const position = sizeBytes;
    sizeBytes += data.length;
    if (sizeBytes > sizeBytesMax)
      throw new S3Error('EntityTooLarge', { details: { MaxSizeAllowed: String(sizeBytesMax) } });
    const written = call(() => writeAll(file, data, position));
    digests.update(data);
    await written;
    unsyncedBytes += data.length;
    collectGarbage(data.length);
    if (unsyncedBytes < limits.unsyncedBytesMax) return;
    unsyncedBytes = 0;
    await call(() => file.datasync());
  }

  const sink = new Writable({
    highWaterMark: limits.writeBufferBytes,
    writev(chunks, done) {
      take(Buffer.concat(chunks.map(({ chunk }): Buffer => chunk))).then(() => done(), done);
    },
    final(done) {
      call(() => file.sync()).then(() => done(), done);
    },
  });
  return {
    sink,
    sizeBytes: () => sizeBytes,
    /** Resolves when no call uses the file any more. */
    settled: () => last.catch(() => undefined),
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

let uncollectedBytes = 0;

/** Received buffers lie outside the heap, where the collector does not see their weight. */
function collectGarbage(sizeBytes: number): void {
  uncollectedBytes += sizeBytes;
  if (uncollectedBytes < limits.uncollectedBytesMax) return;
  uncollectedBytes = 0;
  Bun.gc(true);
}
