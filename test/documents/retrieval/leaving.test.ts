// Who leaves, or whose time is over, costs the database nothing more: the statement of a retrieval ends with it.

import { expect, test } from 'bun:test';
import { newId } from '../../../src/core/ids.ts';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { createRetrieval } from '../../../src/documents/retrieval/index.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import { eventually } from '../../support/child.ts';
import { connectTo, silentLog, testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { asked, retrievalIn } from './setting.ts';

const database = await shared(testDatabase());
const { sql } = database;
const SEARCHES = 'searches of the test';

test('a retrieval whose caller leaves is cancelled at the database', async () => {
  const viewer = { workspaceId: 'acme', userId: newId(), email: 'a@example.com', admin: true };
  await retrievalIn(sql).store(viewer, 'en', 'The pump is red.');
  // Nothing ends a statement by its time.
  const searchSql = connectTo(database.url, { applicationName: SEARCHES, statementTimeoutMs: 0 });
  const slow = createSemaphore({ runningMax: 1, waitingMax: 1, refuse: '' });
  const search = createPostgresSearch({ sql: searchSql, bucket: 'atrium', slow });
  const { retrieve } = createRetrieval({
    sql,
    searchSql,
    search: { plan: search.plan, slow },
    documents: { find: async () => undefined } as never,
    searchVectors: async () => undefined,
    findUserByEmail: async () => undefined,
    catchUpIntervalSeconds: 3600,
    log: silentLog as never,
  });
  expect((await retrieve(viewer, asked('pump'))).passages.length).toBe(1);
  const holder = sql.reserve({ unlimited: true });
  await holder`SET idle_in_transaction_session_timeout = 0`;
  await holder`BEGIN`;
  await holder`LOCK TABLE document_passage_words IN ACCESS EXCLUSIVE MODE`;
  const waiting = async (): Promise<boolean> => {
    const rows = await sql`
      SELECT FROM pg_stat_activity WHERE application_name = ${SEARCHES} AND wait_event_type = 'Lock'`;
    return rows.length > 0;
  };
  const leaving = new AbortController();
  const reason = new Error('the caller has left');
  const left = retrieve(viewer, asked('pump'), leaving.signal).catch((error: unknown) => error);
  await eventually('the statement', waiting);
  leaving.abort(reason);
  expect(await left).toBe(reason);
  await eventually('the end of the statement', async () => !(await waiting()));
  await holder`ROLLBACK`;
  holder.release();
  expect((await retrieve(viewer, asked('pump'), new AbortController().signal)).passages.length).toBe(1);
  await searchSql.end({ timeout: 0 });
});
