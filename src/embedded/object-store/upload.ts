// The bytes of an object on their way to the disk: a file with a random name, which never changes once it is complete.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
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
  sizeBytes = 0;
  /** An object names the file, or may do so. */
  isKept = false;
  readonly #path: string;
  readonly #parts: Parts;
  #folder: FileHandle | undefined;
  #file: FileHandle | undefined;
  #unsyncedBytes = 0;
  /** The last call that uses a file. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(folder: string, id: string, parts: Parts) {
    this.id = id;
    this.#path = join(folder, id);
    this.#parts = parts;
  }

  static async begin(folder: string, id: string, parts: Parts): Promise<Upload> {
    const upload = new Upload(folder, id, parts);
    try {
      // First: the system reports an error of the folder to each descriptor that was open before it.
      await upload.#call(async () => {
        upload.#folder = await open(folder, 'r');
      });
      await upload.#call(async () => {
        upload.#file = await open(upload.#path, 'wx', 0o600);
      });
      return upload;
    } catch (error) {
      await upload[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Digests the bytes while the disk takes them. */
  async write(data: Buffer): Promise<void> {
    const { digests, sizeBytesMax } = this.#parts;
    const position = this.sizeBytes;
    this.sizeBytes += data.length;
    if (this.sizeBytes > sizeBytesMax)
      throw new S3Error('EntityTooLarge', { details: { MaxSizeAllowed: String(sizeBytesMax) } });
    const written = this.#call(() => writeAll(this.#file, data, position));
    digests.update(data);
    await written;
    collectGarbage(data.length);
    this.#unsyncedBytes += data.length;
    // Earlier parts are flushed on the way, so that the last flush is short.
    if (this.#unsyncedBytes < limits.unsyncedBytesMax) return;
    this.#unsyncedBytes = 0;
    await this.#call(async () => this.#file?.datasync());
  }

  /** The MD5 of the content, when the file would survive a loss of power. Throws where the content is not what was announced. */
  async finish(): Promise<string> {
    const md5 = this.#parts.digests.finish();
    await this.#call(async () => this.#file?.sync());
    await this.#call(async () => this.#folder?.sync());
    return md5;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const cleaned = this.#clean();
    // A call of a disk that hangs may use the file for long.
    if (!this.#parts.disk.hangs()) await cleaned;
  }

  /** Where the file stays, the next start removes it. */
  async #clean(): Promise<void> {
    await this.#last.catch(() => undefined);
    await Promise.allSettled([this.#file?.close(), this.#folder?.close()]);
    if (!this.isKept) await rm(this.#path, { force: true }).then(this.#parts.onRemoved, () => undefined);
  }

  #call(start: () => Promise<unknown>): Promise<unknown> {
    return this.#parts.disk.call(() => {
      const running = start();
      this.#last = running;
      return running;
    });
  }
}

/** A single write may take less than it was given. */
async function writeAll(file: FileHandle | undefined, data: Buffer, position: number): Promise<void> {
  for (let offset = 0; file !== undefined && offset < data.length; ) {
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
