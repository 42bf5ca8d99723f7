// Passages that cannot be read for as long as a lock is held cost the citations of an answer, not the answer.

import { expect, test } from 'bun:test';
import { bodyOf, createCaller } from '../acceptance/support/caller.ts';
import { createLibrary } from '../acceptance/support/library.ts';
import { createChatClient } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';

test('an answer comes while the passages are locked, with the record alone, and cites them again afterwards', async () => {
  await using database = await testDatabase();
  await using service = await startService({
    environment: { DATABASE_URL: database.url, CONTENT: 'on', RETRIEVAL_TIMEOUT_MS: '5000' },
  });
  const call = createCaller(service.url);
  const library = createLibrary(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  const chat = createChatClient(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  bodyOf(await chat.putAgent('reader', { name: 'Reader', kind: 'persona', knowledge: 'documents' }), 200);
  const summary = 'How the pump is reset and cleaned';
  await library.stored({ name: 'pump.md', summary }, '# Pump\n\nReset the pump with the red key.');
  const { name } = await chat.newSession({ agi_id: 'reader' });
  const ask = async () =>
    (await chat.ask(name, 'How is the pump reset?')).citations.map(({ quote }) => quote);
  const passage = 'Reset the pump with the red key.';
  await eventually('the passage to be cited', async () => (await ask()).includes(passage));

  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const locking = database.sql.begin(async (tx) => {
    await tx`LOCK TABLE document_passages IN ACCESS EXCLUSIVE MODE`;
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  expect(await ask()).toEqual([summary]);
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toMatch(/atrium_chat_retrieval_failures_total\{reason="late"\} [1-9]/);
  released.resolve();
  await locking;
  await eventually('the passage to be cited again', async () => (await ask()).includes(passage));
});
