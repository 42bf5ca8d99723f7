// An installation in which everything that people may choose is markup, reverses its direction, or is very long.

import { newId } from '../../src/core/ids.ts';
import { encodeRow } from '../../src/usage/row.ts';
import { createDeadLetterStore } from '../../src/usage/store/dead-letters.ts';
import { bodyOf, createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { createLibrary } from '../acceptance/support/library.ts';
import { createMetrics, eventOf } from '../acceptance/support/metrics.ts';
import { createChatClient } from '../support/chat-client.ts';
import type { TestDatabase } from '../support/database.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../support/service.ts';

const MARKUP = `<script>globalThis.ran = 1</script><img src=x onerror="globalThis.ran = 1">"'&amp;\u202Egnp.`;

/** Markup, a change of direction, and one word that fills the rest of the length. */
const hostile = (length: number): string => `${MARKUP}${'W'.repeat(length)}`.slice(0, length);

/** Fills the workspace, and returns the addresses below /admin of what has a view of its own. */
export async function fillWithHostileContent(url: string, { sql }: TestDatabase): Promise<string[]> {
  const key = BOOTSTRAP_KEY;
  const call = createCaller(url);
  const base = `/admin/api/workspaces/${WORKSPACE}`;
  const put = async (method: string, path: string, json: unknown): Promise<void> => {
    const answer = await call(method, path, { key, json });
    expectStatus(answer, answer.status === 201 ? 201 : 200);
  };
  await put('POST', '/admin/api/workspaces', { id: 'other', name: hostile(200) });
  await put('POST', `${base}/users`, { email: `${'w'.repeat(60)}@example.com`, name: hostile(200) });
  await put('POST', `${base}/keys`, { name: hostile(200), scopes: ['models'] });
  const session = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': MARKUP.replace('\u202E', '') },
  };
  await fetch(`${url}/admin/api/session`, { ...session, body: JSON.stringify({ key }) });
  const documents = await storeDocuments(url);
  await put('PUT', `${base}/agents/hostile`, {
    name: hostile(200),
    kind: 'persona',
    instructions: hostile(10_000),
    knowledge: 'documents',
    default: true,
  });
  await put('PUT', `${base}/bots/hostile`, {
    verification: { mode: 'key' },
    welcome_text: hostile(4000),
    agent_id: 'hostile',
  });
  const conversation = await talk(url);
  const metrics = createMetrics(call, { workspace: WORKSPACE, key });
  const data = { value: 1, [hostile(200)]: hostile(10_000) };
  const event = eventOf({ source: hostile(900), type: 'hostile.event', subject: hostile(900), data });
  expectStatus(await metrics.send(event), 202);
  await metrics.stored(hostile(900), 1);
  const row = encodeRow({
    id: newId(),
    eventId: hostile(300),
    workspaceId: WORKSPACE,
    type: hostile(200),
    source: hostile(200),
    subject: '',
    timeMicroseconds: 1_000_000n,
    data: JSON.stringify({ value: hostile(10_000) }),
    extensions: null,
    value: '1',
  });
  await createDeadLetterStore(sql).add({ workspaceId: WORKSPACE, reason: hostile(10_000), row });
  return [
    ...documents.map((id) => `/library?document=${id}`),
    `/conversations?session=${conversation}`,
    '/agents?agent=id:hostile',
    '/bots?bot=id:hostile',
  ];
}

/** Documents of every kind that has a preview; each name, tag, folder and content is hostile. */
async function storeDocuments(url: string): Promise<string[]> {
  const library = createLibrary(createCaller(url), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  const ids: string[] = [];
  for (const type of ['html', 'csv', 'svg']) {
    const given = {
      name: `${hostile(500)}.${type}`,
      summary: `zeppelin ${hostile(10_000)}`,
      tags: [hostile(250), 'plain'],
      categories: [hostile(250)],
      slots: { [hostile(100)]: hostile(1000) },
    };
    ids.push((await library.stored(given, hostile(10_000), hostile(100).replaceAll('/', '|'))).id);
  }
  const [, binned = ''] = await Promise.all([
    library.archive((await library.stored({ name: `${hostile(300)} archived` })).id),
    library.stored({ name: `${hostile(300)} binned` }).then(({ id }) => id),
  ]);
  expectStatus(await library.bin(binned), 204);
  return ids;
}

/** A conversation with citations, feedback and the answer of a person. */
async function talk(url: string): Promise<number> {
  const chat = createChatClient(createCaller(url), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
  const { name, chat_session_id: id } = await chat.newSession({ agi_id: 'hostile' });
  const answer = await chat.ask(name, `zeppelin ${hostile(10_000)}`);
  bodyOf(await chat.feedback(answer.message_id, { is_positive: false, feedback_text: hostile(9000) }), 201);
  expectStatus(await chat.rename(id, { title: hostile(500) }), 200);
  const said = await chat.addAgentMessage(id, { message: hostile(10_000), agent_id: 'ada@example.com' });
  expectStatus(said, said.status === 201 ? 201 : 200);
  return id;
}
