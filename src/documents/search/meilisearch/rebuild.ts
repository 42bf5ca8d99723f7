// Which index is to be there, and the steps to it. Each step is small and leaves a state in the database from which
// the next process goes on. A new index is filled through the outbox: every document is queued, as if it had just
// changed; until all of them are, no search asks the new index.

import { randomBase62 } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Indexes } from '../../../infra/meilisearch/indexes.ts';
import type { Transaction } from '../../../infra/postgres/client.ts';
import { FIRST_ID } from '../../rows.ts';
import { INDEX_SETTINGS, INDEX_VERSION } from './document.ts';
import { createOutbox } from './outbox.ts';
import { createRegistrations, type Registration } from './registrations.ts';

/** Documents queued at once, while fewer wait: changes are not kept waiting behind all that there are. */
const QUEUED_MAX = 8000;

export function createRebuild(deps: {
  sql: Transaction;
  indexes: Indexes;
  indexPrefix: string;
  log: Logger;
}) {
  const { sql, indexes, log } = deps;
  const { retire } = createRegistrations(sql);
  const namePrefix = `${deps.indexPrefix}_documents_`;
  /** By index: the transaction before which all must have ended when its filling begins. In memory: a later one does too. */
  const horizons = new Map<string, string>();

  const isOurs = ({ indexUid, version }: Registration): boolean =>
    version === INDEX_VERSION && indexUid.startsWith(namePrefix);

  const dropRetired = async (signal: AbortSignal): Promise<void> => {
    for (const { uid } of await sql<{ uid: string }[]>`SELECT index_uid AS uid FROM search_mirror_retired`) {
      await indexes.drop(uid, signal);
      await sql`DELETE FROM search_mirror_retired WHERE index_uid = ${uid}`;
    }
  };

  const register = async (): Promise<void> => {
    const indexUid = `${namePrefix}${INDEX_VERSION}_${randomBase62(6)}`;
    // Changes that commit from now on, and whose transaction begins to write after this, are queued for it.
    await sql`INSERT INTO search_mirror (index_uid, version) VALUES (${indexUid}, ${INDEX_VERSION})`;
    log.info({ index: indexUid }, 'a new search index is being filled; until then Postgres answers alone');
  };

  /** Settings come before documents; the server's state before is noted, so that its loss is seen. */
  const prepare = async ({ indexUid }: Registration, signal: AbortSignal): Promise<void> => {
    await indexes.prepare(indexUid, INDEX_SETTINGS, signal);
    const task = await indexes.newestTask(signal);
    const madeAt = await indexes.madeAt(indexUid, signal);
    if (madeAt === undefined) return;
    await sql`UPDATE search_mirror SET server_made_at = ${madeAt}, task = ${task} WHERE index_uid = ${indexUid}`;
  };

  /** Whether all transactions have ended that may not have queued their changes for the index. */
  const mayFill = async ({ indexUid, copiedTo }: Registration): Promise<boolean> => {
    if (copiedTo !== FIRST_ID) return true;
    const [row] = await sql<{ horizon: string; ended: boolean }[]>`
      SELECT horizon::text, pg_snapshot_xmin(now) >= horizon AS ended FROM pg_current_snapshot() AS now,
        LATERAL coalesce(${horizons.get(indexUid) ?? null}::text::xid8, pg_snapshot_xmax(now)) AS horizon`;
    if (row !== undefined) horizons.set(indexUid, row.horizon);
    return row?.ended === true;
  };

  const fill = async ({ indexUid }: Registration): Promise<void> => {
    if ((await createOutbox(sql).backlog()).waiting >= QUEUED_MAX) return;
    const queued = await sql`
      WITH page AS MATERIALIZED (
        SELECT id, workspace_id FROM documents
        WHERE id > (SELECT copied_to FROM search_mirror WHERE index_uid = ${indexUid})
        ORDER BY id LIMIT ${QUEUED_MAX}),
      added AS MATERIALIZED (SELECT search_outbox_add(array_agg(id), array_agg(workspace_id)) FROM page)
      UPDATE search_mirror SET copied_to = last.id
      FROM added, (SELECT id FROM page ORDER BY id DESC LIMIT 1) last WHERE index_uid = ${indexUid}
      RETURNING index_uid`;
    if (queued.length > 0) return;
    // The documents that are not in it wait in the outbox: that is all that "ready" promises. From now on it answers,
    // and no other.
    await sql`
      WITH old AS (DELETE FROM search_mirror WHERE index_uid <> ${indexUid} RETURNING index_uid),
      retired AS (INSERT INTO search_mirror_retired SELECT index_uid FROM old ON CONFLICT DO NOTHING)
      UPDATE search_mirror SET ready = true
      WHERE index_uid = ${indexUid} AND (SELECT count(*) FROM old) >= 0`;
    log.info({ index: indexUid }, 'the search index is complete');
  };

  return {
    /** Takes what no search can use any more out of service. Needs the database alone. */
    async retireUseless(registered: readonly Registration[]): Promise<boolean> {
      const useless = registered.filter((each) => !isOurs(each) || (each.outdated && !each.ready));
      if (useless.length > 0) await retire(useless.map(({ indexUid }) => indexUid));
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
      if (target === undefined) await register();
      else if (target.serverMadeAt === null) await prepare(target, signal);
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
        await retire(lost);
      }
      return lost.length > 0;
    },
  };
}
