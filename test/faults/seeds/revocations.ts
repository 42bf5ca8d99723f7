// Keys that every process has in its cache are revoked: while notices of changes arrive, while the listening connections are
// cut, and before an outage of the database. Each is refused by every process within the promised time, and for good.

import type { Sql } from '../../../src/infra/postgres/client.ts';
import { type Answer, bodyOf } from '../../acceptance/support/caller.ts';
import { eventually } from '../../support/child.ts';
import { connectTo } from '../../support/database.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../support/service.ts';
import { createPlainCaller } from '../support/caller.ts';
import type { Site } from './site.ts';

type Key = { id: string; key: string };

/**
 * By the clock on the wall, as the cache of keys counts, which keeps them for 30 s: a mistake there would not show once they have
 * left it. A silent connection is noticed within 3 s; the rest is for a busy machine.
 */
const PROMISED_MS = 20_000;
const READY_MS = 60_000;
const PAUSE_MS = 20;
/** The kernel deals new connections out to the processes: so many for each leave hardly one of them out. */
const REQUESTS_PER_PROCESS = 8;
const KEYS = `/admin/api/workspaces/${WORKSPACE}/keys`;

/**
 * What was not as promised. `outage`: afterwards the database hangs, and a key that was revoked unnoticed must not be good
 * again because it was good once.
 */
export async function checkRevocations(
  site: Site,
  { processes, outage }: { processes: number; outage: boolean },
): Promise<string[]> {
  const call = createPlainCaller(site.url, READY_MS);
  const problems: string[] = [];
  await using begun = new AsyncDisposableStack();
  const sql = connectTo(site.databaseUrl(), { connectionsMax: 1 });
  begun.defer(() => sql.end({ timeout: 1 }));
  /** Asks again where the answer is lost or a 503: a process may still be on its way back. */
  const insist = (method: string, path: string, json?: object): Promise<Answer> =>
    eventually(`${method} ${path}`, async () => {
      const request = { key: BOOTSTRAP_KEY, ...(json === undefined ? {} : { json }) };
      const answer = await call(method, path, request).catch(() => undefined);
      return answer?.status !== 503 && answer;
    });
  const make = async (): Promise<Key> =>
    bodyOf<Key>(await insist('POST', KEYS, { name: 'revoked', scopes: ['models'] }), 201);
  /** Each status that some process gives. */
  const statusesOf = async ({ key }: Key): Promise<string> => {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' };
    const requests = Array.from({ length: processes === 1 ? 1 : processes * REQUESTS_PER_PROCESS }, () =>
      call('GET', '/v1/models', { headers }).then(
        ({ status }) => `${status}`,
        () => 'lost',
      ),
    );
    return [...new Set(await Promise.all(requests))].join(', ');
  };
  const becomes = async (what: string, key: Key, status: number, timeoutMs: number): Promise<void> => {
    const until = performance.now() + timeoutMs;
    let last = await statusesOf(key);
    while (last !== `${status}` && performance.now() < until) {
      await Bun.sleep(PAUSE_MS);
      last = await statusesOf(key);
    }
    if (last !== `${status}`) problems.push(`${what}: ${last}`);
  };
  const isRefused = (when: string, key: Key): Promise<void> =>
    becomes(`a key that is revoked ${when} is refused by every process in time`, key, 401, PROMISED_MS);

  const [noticed, unnoticed, unused, kept] = [await make(), await make(), await make(), await make()];
  for (const key of [kept, unused, unnoticed, noticed])
    await becomes('a key that was made is good', key, 200, READY_MS);

  await insist('DELETE', `${KEYS}/${noticed.id}`);
  await isRefused('while notices arrive', noticed);

  await revokeWithoutNotice(sql, [unnoticed, unused]);
  site.note('cut the notices of revocations');
  await isRefused('while notices are cut', unnoticed);
  await becomes('a key that is not revoked stays good', kept, 200, READY_MS);
  if (!outage) return problems;

  const resume = site.parts.database.pause();
  site.note('pause database after a revocation');
  try {
    // 401 by a process that knows, 503 by one that cannot ask.
    const statuses = await statusesOf(unused);
    if (statuses.includes('200'))
      problems.push(`a key that was revoked unnoticed is refused in the next outage: ${statuses}`);
  } finally {
    resume();
  }
  return problems;
}

const LISTENERS = `application_name = 'atrium' AND query ~* '^(listen|select pg_notify)'`;

/** Returns when as many connections listen again as before. */
async function revokeWithoutNotice(sql: Sql, keys: readonly Key[]): Promise<void> {
  const ids = keys.map(({ id }) => id);
  const pids = async (): Promise<number[]> => {
    const rows = await sql.unsafe<{ pid: number }[]>(`SELECT pid FROM pg_stat_activity WHERE ${LISTENERS}`);
    return rows.map(({ pid }) => pid);
  };
  const before = await sql.begin(async (tx) => {
    const ended = await tx.unsafe<{ pid: number }[]>(
      `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${LISTENERS}`,
    );
    await tx`UPDATE keys SET revoked_at = now() WHERE id = ANY (${tx.array(ids)}::uuid[])`;
    return ended.map(({ pid }) => pid);
  });
  if (before.length === 0) throw new Error('no connection listens');
  await eventually('all processes to listen again', async () => {
    const now = await pids();
    return now.length >= before.length && !now.some((pid) => before.includes(pid));
  });
}
