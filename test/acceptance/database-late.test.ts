// A statement that takes too long is told from a database that is away: the operator looks for a lock, not for a broken network.

import { expect, test } from 'bun:test';
import { connectTo, testDatabase } from '../support/database.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { createCaller, expectStatus } from './support/caller.ts';
import { createLibrary } from './support/library.ts';

const LATE = 'The database did not answer in time';

test('a request whose statement times out says so, with 503', async () => {
  await using database = await testDatabase();
  await using service = await startService({ environment: { DATABASE_URL: database.url } });
  const call = createCaller(service.url);
  const library = createLibrary(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  const record = await library.stored({ name: 'a.txt' });
  const chat = '/api/v1/chat/messages';
  const headers = { 'svc-key': BOOTSTRAP_KEY };
  const agent = { name: 'Helper', kind: 'persona', model: 'local-echo', instructions: 'Help.' };
  const put = `/admin/api/workspaces/${WORKSPACE}/agents/helper`;
  expect((await call('PUT', put, { key: BOOTSTRAP_KEY, json: agent })).status).toBeLessThan(300);
  const session = await call('POST', `${chat}/create-chat-session/${WORKSPACE}/web/widget/shop`, {
    headers,
    json: { agi_id: 'helper', channel_session_id: 'visitor' },
  });
  expect(session.status).toBeLessThan(300);
  const ask = () =>
    call('POST', `${chat}/send-message/${WORKSPACE}/web/widget/shop/bychannelsession/visitor`, {
      headers,
      json: { message: 'Hello', channel_user_message_id: '1', channel_assistant_message_id: '2' },
    });
  const sql = connectTo(database.url, { settings: { idle_in_transaction_session_timeout: '0' } });
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const lock = sql.begin(async (tx) => {
    await tx`LOCK TABLE documents, chat_sessions IN ACCESS EXCLUSIVE MODE`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  try {
    const answers = await Promise.all([library.detail(record.id), ask()]);
    for (const answer of answers) {
      expectStatus(answer, 503);
      expect(answer.text).toContain(LATE);
    }
  } finally {
    release.resolve();
    await lock;
    await sql.end({ timeout: 1 });
  }
  expectStatus(await library.detail(record.id), 200);
});
