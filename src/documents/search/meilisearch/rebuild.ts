// Which index is to be there, and the steps to it. Each step is small and leaves a state in the database from which
// the next process goes on; until the last one no search asks the new index.

import { randomBase62 } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Indexes } from '../../../infra/meilisearch/indexes.ts';
import type { Delivery } from './delivery.ts';
import type { Outbox } from './outbox.ts';
import { FIRST_ID, type Registration, type Registrations } from './registrations.ts';
import { INDEX_SETTINGS, INDEX_VERSION } from './settings.ts';

/** Documents copied between two looks at the outbox. */
const COPY_LIMITS = { documentsMax: 8000, bytesMax: 40_000_000 };

export function createRebuild(deps: {
  indexes: Indexes;
  registrations: Registrations;
  outbox: Outbox;
  delivery: Delivery;
  indexPrefix: string;
  log: Logger;
}) {
  const { indexes, registrations, outbox, delivery, log } = deps;
  const namePrefix = `${deps.indexPrefix}_documents_`;
  /** By index: what must have ended before its copy begins. */
  const horizons = new Map<string, string>();

  const isOurs = ({ indexUid, version }: Registration): boolean =>
    version === INDEX_VERSION && indexUid.startsWith(namePrefix);

  const dropRetired = async (signal: AbortSignal): Promise<void> => {
    for (const indexUid of await registrations.retired()) {
      await indexes.drop(indexUid, signal);
      await registrations.forgetRetired(indexUid);
    }
  };

  /** Settings come before documents; what the server knew before is noted, so that its loss is seen. */
  const prepare = async ({ indexUid }: Registration, signal: AbortSignal): Promise<void> => {
    await indexes.prepare(indexUid, INDEX_SETTINGS, signal);
    const task = await indexes.newestTask(signal);
    const madeAt = await indexes.madeAt(indexUid, signal);
    if (madeAt !== undefined) await registrations.noteServer(indexUid, madeAt, task);
  };

  /** Whether all transactions have ended that may not have queued their changes for the index. */
  const mayCopy = async ({ indexUid, copiedTo }: Registration): Promise<boolean> => {
    if (copiedTo !== FIRST_ID) return true;
    const horizon = horizons.get(indexUid) ?? (await registrations.horizon());
    horizons.set(indexUid, horizon);
    return registrations.hasEnded(horizon);
  };

  const copy = async (target: Registration, signal: AbortSignal): Promise<void> => {
    const { indexUid } = target;
    const documents = await registrations.documentsAfter(target.copiedTo, COPY_LIMITS);
    const last = documents.at(-1);
    if (last === undefined) {
      // What is not in it waits in the outbox: that is all that "ready" promises.
      await registrations.makeReady(indexUid);
      log.info({ index: indexUid }, 'the search index is complete');
      return;
    }
    const sent = documents.map((document) => ({
      id: document.id,
      workspaceId: document.workspaceId,
      document,
    }));
    const { refused, task } = await delivery.deliver(target, sent, signal);
    const reasons = new Map(refused.map(({ id, reason }) => [id, reason]));
    for (const each of sent) {
      const reason = reasons.get(each.id);
      if (reason === undefined) continue;
      log.warn({ document: each.id, reason }, 'the search server refuses a document');
      await outbox.addRefused(each, reason);
    }
    await registrations.noteTask(indexUid, task);
    await registrations.noteCopied(indexUid, last.id);
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
      else if (!(await mayCopy(target))) return 'waiting';
      else await copy(target, signal);
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
