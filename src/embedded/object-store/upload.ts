// The bytes of an object on their way to the disk: a file with a random name, which never changes once it is whole.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { Digests } from './digests.ts';
import type { Disk } from './disk.ts';
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';

type Parts = {
  disk: Disk;
  digests: Digests;
  sizeBytesMax: number;
  /** Called when there is no file any more. */
  onRemoved(): void;
};

/** Disposed of, it leaves no file unless it was kept. */
export class Upload {
  readonly id: string;
  /** Takes the content, and finishes when all of it is flushed. */
  readonly sink: Writable;
  sizeBytes = 0;
  /** An object names the file, or may do so. */
  isKept = false;
  readonly #path: string;
  readonly #disk: Disk;
  readonly #digests: Digests;
  readonly #sizeBytesMax: number;
  readonly #onRemoved: () => void;
  readonly #files: FileHandle[] = [];
  #unsyncedBytes = 0;
  /** The last call that uses a file. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(id: string, path: string, parts: Parts) {
    this.id = id;
    this.#path = path;
    this.#disk = parts.disk;
    this.#digests = parts.digests;
    this.#sizeBytesMax = parts.sizeBytesMax;
    this.#onRemoved = parts.onRemoved;
    this.sink = new Writable({
      highWaterMark: limits.writeBufferBytes,
      writev: (chunks, done) => {
        this.#take(Buffer.concat(chunks.map(({ chunk }): Buffer => chunk))).then(() => done(), done);
      },
      final: (done) => {
        this.#call(() => this.#file(1).sync()).then(() => done(), done);
      },
    });
  }

  static async begin(folder: string, id: string, parts: Parts): Promise<Upload> {
    const upload = new Upload(id, join(folder, id), parts);
    try {
      // First: the system reports an error of the folder to each descriptor that was open before it.
      await upload.#open(folder, 'r');
      await upload.#open(upload.#path, 'wx');
      return upload;
    } catch (error) {
      await upload[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The MD5 of the content, when the file would survive a loss of power. Throws where the content is not what was announced. */
  async finish(): Promise<string> {
    const md5 = this.#digests.finish();
    await this.#call(() => this.#file(0).sync());
    return md5;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const cleaned = this.#clean();
    // A call of a disk that hangs may use the file for long.
    if (!this.#disk.hangs()) await cleaned;
  }

  /** Where the file stays, the next start removes it. */
  async #clean(): Promise<void> {
    this.sink.destroy();
    await this.#last.catch(() => undefined);
    await Promise.allSettled(this.#files.map((file) => file.close()));
    if (this.isKept) return;
    await rm(this.#path, { force: true }).then(this.#onRemoved, () => undefined);
  }

  #file(index: 0 | 1): FileHandle {
    return this.#files[index] as FileHandle;
  }

  #open(path: string, flags: string): Promise<unknown> {
    return this.#call(async () => this.#files.push(await open(path, flags, 0o600)));
  }

  #call<Result>(start: () => Promise<Result>): Promise<Result> {
    return this.#disk.call(() => {
      const running = start();
      this.#last = running;
      return running;
    });
  }

  /** Digests a buffer while the disk takes it. */
  async #take(data: Buffer): Promise<void> {
    const position = this.sizeBytes;
    this.sizeBytes += data.length;
    if (this.sizeBytes > this.#sizeBytesMax)
      throw new S3Error('EntityTooLarge', { details: { MaxSizeAllowed: String(this.#sizeBytesMax) } });
    const written = this.#call(() => writeAll(this.#file(1), data, position));
    this.#digests.update(data);
    await written;
    collectGarbage(data.length);
    this.#unsyncedBytes += data.length;
    // Earlier parts are flushed on the way, so that the last flush is short.
    if (this.#unsyncedBytes < limits.unsyncedBytesMax) return;
    this.#unsyncedBytes = 0;
    await this.#call(() => this.#file(1).datasync());
  }
}

/** A single write may take less than it was given. */
async function writeAll(file: FileHandle, data: Buffer, position: number): Promise<void> {
  for (let offset = 0; offset < data.length; ) {
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
