// The catch-up of embeddings: documents that were stored earlier, or that an earlier model has embedded. That model answers in a
// workspace until the present one has all of its documents.

import type { Embeddings } from '../../core/embed-texts.ts';
import type { Logger } from '../../core/logger.ts';
import type { RunOutcome } from '../../core/periodic.ts';
import type { JobQueue } from '../../infra/postgres/job-queue.ts';
import { createCatchUp } from '../jobs/catch-up.ts';
import { type createVectorStore, EARLIER_EMBEDDING } from './store.ts';

/**
 * Queues what lacks vectors of the present model, and lets that model answer where it can. Returns `again` until nothing had to be
 * queued and no workspace is answered by another model: its last documents may still be read or embedded.
 */
export function createEmbeddingCatchUp(deps: {
  store: ReturnType<typeof createVectorStore>;
  embeddings: Pick<Embeddings, 'current'>;
  queue: Pick<JobQueue, 'backlog'>;
  wake(): void;
  log: Logger;
}) {
  const { store, embeddings, log } = deps;
  /** 0 for a model that has embedded nothing yet: its first document adds it. */
  const idOf = async (name: string): Promise<number> => (await store.findModel(name))?.id ?? 0;
  return async (signal: AbortSignal): Promise<RunOutcome> => {
    let queued = 0;
    const queueUnembedded = createCatchUp({
      kind: EARLIER_EMBEDDING,
      async queueSome(page) {
        const some = await store.queueUnembedded(await idOf(await embeddings.current()), page);
        queued += some.queued;
        return some;
      },
      queue: deps.queue,
      wake: deps.wake,
    });
    await queueUnembedded(signal);
    const model = await embeddings.current();
    const id = await idOf(model);
    if (id !== 0 && !signal.aborted)
      for (const workspace of await store.switchTo(id))
        log.info({ workspace, model }, 'another model answers searches by vectors');
    while (id !== 0 && !signal.aborted && (await store.deleteSuperseded(id)));
    return queued > 0 || (await store.isSwitching(id)) ? 'again' : undefined;
  };
}
