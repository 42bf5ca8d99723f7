import type { Job, JobOutcome } from '../../infra/postgres/job-queue.ts';
import type { ObjectStore } from '../../infra/s3/client.ts';

/** Deletes the objects of purged documents; one that the store refuses to delete is tried again later. */
export function createDeletion(objects: Pick<ObjectStore, 'remove'>) {
  return async (jobs: readonly Job[]): Promise<JobOutcome[]> => {
    const keys = jobs.map((job) => (job.payload as { key: string }).key);
    const refused = await objects.remove(keys.map((key) => ({ key })));
    return keys.map((key) => {
      const reason = refused.get(key);
      return reason === undefined ? 'done' : { retry: reason };
    });
  };
}
