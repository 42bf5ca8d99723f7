// Calls of a disk that may hang, as that of a network file system does: they return neither success nor an error. They are
// few at a time, because each occupies one of the threads that all such calls of the process share, until the disk answers.
import { DiskHangs } from '../../core/disk-fault.ts';
import { createSemaphore } from '../../core/semaphore.ts';

export type DiskCalls = ReturnType<typeof createDiskCalls>;

/** `msMax`: a call that takes longer is overdue. `runningMax`: calls at a time; the others wait. */
export function createDiskCalls({ msMax, runningMax }: { msMax: number; runningMax: number }) {
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
    /** Calls the disk, and settles as the call does, however late. While calls are overdue no other one begins: it throws `DiskHangs`. */
    async call<Result>(call: () => Promise<Result>): Promise<Result> {
      hanging.signal.throwIfAborted();
      await permits.acquire(hanging.signal);
      const running = call();
      watch(running);
      return await running;
    },
    /** The outcome of work that calls the disk; rejects with `DiskHangs` as soon as a call is overdue. The work itself goes on. */
    unlessHung<Result>(work: Promise<Result>): Promise<Result> {
      const { signal } = hanging;
      return new Promise((resolve, reject) => {
        const onHang = (): void => reject(signal.reason);
        signal.addEventListener('abort', onHang);
        if (signal.aborted) onHang();
        work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onHang));
      });
    },
    /** Throws `DiskHangs` while a call is overdue. */
    assertAnswers: () => hanging.signal.throwIfAborted(),
  };
}
