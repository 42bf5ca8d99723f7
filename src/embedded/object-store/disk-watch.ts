// Whether the disk takes uploads: known from those that failed, and tried again until one does not.
import { type DiskFault, diskFaultOf } from '../../core/disk-fault.ts';

export interface DiskWatch {
  /** What the work gives; where it fails for the disk, that is remembered. */
  noting<Result>(work: Promise<Result>): Promise<Result>;
  /** Why no upload can be taken at the moment; once one has failed for it, each call tries whether that is over. */
  fault(): Promise<DiskFault | undefined>;
}

/** `tryUpload` does what an upload does, and leaves nothing. */
export function createDiskWatch(tryUpload: () => Promise<void>): DiskWatch {
  let fault: DiskFault | undefined;
  let trying: Promise<void> | undefined;
  async function noting<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      fault = diskFaultOf(error) ?? fault;
      throw error;
    }
  }
  async function tryAgain(): Promise<void> {
    try {
      await noting(tryUpload());
      fault = undefined;
    } catch {
      // It goes on.
    }
  }
  return {
    noting,
    fault: async () => {
      if (fault === undefined) return undefined;
      trying ??= tryAgain().finally(() => {
        trying = undefined;
      });
      await trying;
      return fault;
    },
  };
}
