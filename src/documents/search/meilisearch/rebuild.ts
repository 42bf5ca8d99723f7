// Which index is to be there, and the steps to it. Each step is small and leaves a state in the database from which
// the next process goes on. A new index is filled through the outbox: every document is queued, as if it had just
// changed; until all of them are, no search asks the new index.

import { randomBase62 } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Indexes } from '../../../infra/meilisearch/indexes.ts';
import type { Outbox } from './outbox.ts';
import { FIRST_ID, type Registration, type Registrations } from './registrations.ts';
import { INDEX_SETTINGS, INDEX_VERSION } from './settings.ts';

/** Documents queued at once, while fewer wait: changes are not kept waiting behind all that there are. */
const QUEUED_MAX = 4000;

export function createRebuild(deps: {
  indexes: Indexes;
  registrations: Registrations;
  outbox: Outbox;
  indexPrefix: string;
  log: Logger;
}) {
  const { indexes, registrations, outbox, log } = deps;
  const namePrefix = `${deps.indexPrefix}_documents_`;
  /** By index: the transaction before which all must have ended when its filling begins. */
  const horizons = new Map<string, string>();

  const isOurs = ({ indexUid, version }: Registration): boolean =>
    version === INDEX_VERSION && indexUid.startsWith(namePrefix);

  const dropRetired = async (signal: AbortSignal): Promise<void> => {
    for (const indexUid of await registrations.retired()) {
      await indexes.drop(indexUid, signal);
      await registrations.forgetRetired(indexUid);
    }
  };

  /** Settings come before documents; the server's state before is noted, so that its loss is seen. */
  const prepare = async ({ indexUid }: Registration, signal: AbortSignal): Promise<void> => {
    await indexes.prepare(indexUid, INDEX_SETTINGS, signal);
    const task = await indexes.newestTask(signal);
    const madeAt = await indexes.madeAt(indexUid, signal);
    if (madeAt !== undefined) await registrations.noteServer(indexUid, madeAt, task);
  };

  /** Whether all transactions have ended that may not have queued their changes for the index. */
  const mayFill = async ({ indexUid, copiedTo }: Registration): Promise<boolean> => {
    if (copiedTo !== FIRST_ID) return true;
    const horizon = horizons.get(indexUid) ?? (await registrations.horizon());
    horizons.set(indexUid, horizon);
    return registrations.hasEnded(horizon);
  };

  const fill = async ({ indexUid }: Registration): Promise<void> => {
    if ((await outbox.backlog()).waiting >= QUEUED_MAX) return;
    if (await registrations.queueNext(indexUid, QUEUED_MAX)) return;
    // What is not in it waits in the outbox: that is all that "ready" promises.
    await registrations.makeReady(indexUid);
    log.info({ index: indexUid }, 'the search index is complete');
  };

  return {
    /** Takes what no search can use any more out of service. Needs the database alone. */
    async retireUseless(registered: readonly Registration[]): Promise<boolean> {
      const useless = registered.filter((each) => !isOurs(each) || (each.outdated && !each.ready));
      if (useless.length > 0) await registrations.retire(useless.map(({ indexUid }) => indexUid));
      return useless.length > 0;
    },

    /** One step towards a good index, given what is registered; says whether another one is due. */
    async step(
      registered: readonly Registration[],
      signal: AbortSignal,
    ): Promise<'done' | 'waiting' | 'more'> {
      if (registered.some(({ ready, outdated }) => ready && !outdated)) {
        await dropRetired(signal);
        return 'done';
      }
      const target = registered.find(({ ready }) => !ready);
      if (target === undefined) {
        const indexUid = `${namePrefix}${INDEX_VERSION}_${randomBase62(6)}`;
        await registrations.add(indexUid, INDEX_VERSION);
        log.info(
          { index: indexUid },
          'a new search index is being filled; until then Postgres answers alone',
        );
      } else if (target.serverMadeAt === null) await prepare(target, signal);
      else if (!(await mayFill(target))) return 'waiting';
      else await fill(target);
      return 'more';
    },

    /**
     * Waits until nothing that was sent earlier is still to be done, so that what is sent now comes after it, and
     * takes out of service what the server has lost: no such index, another one of its name, or an older state.
     */
    async inspect(registered: readonly Registration[], signal: AbortSignal): Promise<boolean> {
      const newestTask = await indexes.newestTask(signal);
      const lost: string[] = [];
      for (const { indexUid, serverMadeAt, task } of registered) {
        while (await indexes.busy(indexUid, signal)) await Bun.sleep(100);
        if (serverMadeAt === null) continue;
        const madeAt = await indexes.madeAt(indexUid, signal);
        if (madeAt !== serverMadeAt || newestTask < task) lost.push(indexUid);
      }
      if (lost.length > 0) {
        log.warn({ indexes: lost }, 'the search server has lost an index; it is made anew');
        await registrations.retire(lost);
      }
      return lost.length > 0;
    },
  };
}
