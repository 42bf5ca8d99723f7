// Calls of a disk that may hang, as that of a network file system does: they return neither success nor an error. Few run at a
// time, because each occupies one of the threads that all such calls of the process share, until the disk answers.
import { DiskHangs } from '../../core/disk-fault.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import { abortable } from '../../core/wait.ts';

export type Disk = ReturnType<typeof createDisk>;

/** `msMax`: a call that takes longer is overdue. `runningMax`: calls at a time; the others wait. */
export function createDisk({ msMax, runningMax }: { msMax: number; runningMax: number }) {
  const permits = createSemaphore({
    runningMax,
    waitingMax: Number.POSITIVE_INFINITY,
    refuse: () => new DiskHangs(),
  });
  let overdue = 0;
  let hanging = new AbortController();

  function watch(running: Promise<unknown>): void {
    let isOverdue = false;
    const timer = setTimeout(() => {
      isOverdue = true;
      overdue += 1;
      hanging.abort(new DiskHangs());
    }, msMax);
    const end = (): void => {
      clearTimeout(timer);
      permits.release();
      if (isOverdue && --overdue === 0) hanging = new AbortController();
    };
    running.then(end, end);
  }

  return {
    /**
     * The outcome of a call. While any call is overdue no other one begins, and all of them reject with `DiskHangs`; the calls
     * themselves go on.
     */
    async call<Result>(call: () => Promise<Result>): Promise<Result> {
      const { signal } = hanging;
      signal.throwIfAborted();
      await permits.acquire(signal);
      const running = call();
      watch(running);
      return await abortable(running, signal);
    },
    hangs: (): boolean => overdue > 0,
  };
}
