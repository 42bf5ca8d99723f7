// Whether the disk takes uploads. A failed upload shows that it does not; writing is tried again until it succeeds.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type DiskFault, diskFaultOf } from '../../core/disk-fault.ts';
import type { Blobs } from './blobs.ts';
import type { Catalogue } from './catalogue.ts';
import type { DiskCalls } from './disk-calls.ts';
import { limits } from './limits.ts';

export function createDiskWatch(parts: { catalogue: Catalogue; blobs: Blobs; disk: DiskCalls }) {
  const { catalogue, blobs, disk } = parts;
  let fault: DiskFault | undefined;
  let trying: Promise<void> | undefined;
  /** The outcome of the work, or `DiskHangs`; a failure of the disk is remembered. */
  async function noting<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await disk.unlessHung(work);
    } catch (error) {
      fault = diskFaultOf(error) ?? fault;
      throw error;
    }
  }
  /** Does what an upload does, and leaves nothing. */
  async function tryUpload(): Promise<void> {
    const content = Buffer.alloc(limits.writeBufferBytes);
    const { id } = await blobs.receive(
      {
        sizeBytesMax: content.length,
        digests: [],
        check: () => undefined,
        fill: (sink) => pipeline(Readable.from([content]), sink),
      },
      catalogue.pass,
    );
    if (await blobs.remove(id)) catalogue.settle(id);
    await catalogue.durable();
  }
  async function tryAgain(): Promise<void> {
    try {
      await noting(tryUpload());
      fault = undefined;
    } catch {
      // The fault lasts.
    }
  }
  return {
    noting,
    fault: async (): Promise<DiskFault | undefined> => {
      // A hang may be known from other work than an upload.
      await noting(Promise.resolve()).catch(() => undefined);
      if (fault === undefined) return undefined;
      trying ??= tryAgain().finally(() => {
        trying = undefined;
      });
      await disk.unlessHung(trying).catch(() => undefined);
      return fault;
    },
  };
}
