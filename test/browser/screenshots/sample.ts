// A workspace as a company has one, for the screenshots: people, keys, documents, a month of use, conversations.

import type { Sql } from '../../../src/infra/postgres/client.ts';
import { bodyOf, type Caller, createCaller } from '../../acceptance/support/caller.ts';
import { createLibrary } from '../../acceptance/support/library.ts';
import type { Content } from '../../acceptance/support/uploads.ts';
import { createChatClient } from '../../support/chat-client.ts';
import { pdf } from '../../support/files.ts';
import { sumModelDays } from '../../support/model-days.ts';
import { BOOTSTRAP_KEY as key, WORKSPACE as workspace } from '../../support/service.ts';

const ADMIN = `/admin/api/workspaces/${workspace}`;
const DAYS = 30;

export type Sample = { document: string; table: string; session: number };

/** Fills the service, and spreads what was used over the last month. Returns what the pages open. */
export async function fillWorkspace({ url, sql }: { url: string; sql: Sql }): Promise<Sample> {
  const call = createCaller(url);
  const post = async <Made>(path: string, json: unknown): Promise<Made> =>
    bodyOf<Made>(await call('POST', path, { key, json }), 201);
  const keys = await makeKeys(post);
  const documents = await makeDocuments(createLibrary(call, { workspace, key }));
  const session = await converse(call);
  await useModels(call, keys);
  await sendEvents(url);
  await spreadOverDays(sql);
  return { ...documents, session };
}

type Post = <Made>(path: string, json: unknown) => Promise<Made>;

async function makeKeys(post: Post): Promise<string[]> {
  for (const [email, name] of [
    ['ada@example.com', 'Ada Lovelace'],
    ['grace@example.com', 'Grace Hopper'],
    ['emmy@example.com', 'Emmy Noether'],
  ])
    await post(`${ADMIN}/users`, { email, name });
  await post('/admin/api/workspaces', { id: 'research', name: 'Research' });
  const wanted = [
    { name: 'Support website', scopes: ['chat', 'models'], user_email: 'ada@example.com' },
    {
      name: 'Nightly import',
      scopes: ['documents:read', 'documents:write'],
      user_email: 'grace@example.com',
    },
    {
      name: 'Research notebook',
      scopes: ['models', 'metrics'],
      user_email: 'emmy@example.com',
      limits: { requests_per_minute: 60, tokens_per_minute: 40_000, budget_per_month: 50 },
      expires_at: new Date(Date.now() + 40 * 86_400_000).toISOString(),
    },
  ];
  const made: string[] = [];
  for (const each of wanted) made.push((await post<{ key: string }>(`${ADMIN}/keys`, each)).key);
  return made;
}

const PRICES = `article,description,price,in stock
P-100,"Pump, small",420,12
P-200,"Pump, large",980,3
S-010,Seal kit,19.5,140
V-033,Valve,64,0
`;
const MANUAL = `# Pump P-100

How to install and service the pump.

1. Close **both** valves.
2. Loosen the four bolts with a \`13 mm\` key.
3. Replace the seal.

> Never open the housing under pressure.
`;

async function makeDocuments(library: ReturnType<typeof createLibrary>) {
  const store = (name: string, text: Content, folder: string | null, more: object = {}) =>
    library.stored({ name, ...more }, text, folder);
  const names = ['Pump P-200', 'Valve V-033', 'Seal kit', 'Motor M-7', 'Control unit'];
  for (const [at, name] of names.entries())
    await store(
      `${name}.pdf`,
      pdf([[{ x: 60, y: 700, text: `${name}: how to install and service it.` }]]),
      'manuals',
      {
        tags: ['manual', name.split(' ')[0]?.toLowerCase()],
        status: at % 2 === 0 ? 'public' : 'private',
      },
    );
  await store('Terms of service.txt', 'Terms', 'contracts/2026', { tags: ['legal'], status: 'public' });
  await store('Supplier agreement.txt', 'Agreement', 'contracts/2026', { tags: ['legal'] });
  await store('Travel policy.md', '# Travel', null, { tags: ['people'], status: 'public' });
  const table = await store('Prices 2026.csv', PRICES, 'sales', { tags: ['prices', '2026'] });
  const document = await store('Pump P-100.md', MANUAL, 'manuals', {
    tags: ['manual', 'pump'],
    categories: ['engineering'],
    summary: 'How to install and service the pump.',
    status: 'public',
  });
  const old = await store('Prices 2025.csv', PRICES, 'sales', { tags: ['prices'] });
  await library.archive(old.name);
  const binned = await store('Draft.txt', 'Draft', null);
  await library.bin(binned.id);
  return { document: document.id, table: table.id };
}

async function converse(call: Caller): Promise<number> {
  const chat = createChatClient(call, { workspace, key });
  await chat.putAgent('reception', {
    name: 'Reception',
    kind: 'bot',
    replies: [
      { match: 'open', reply: 'We are open from nine to six, on Saturdays until two.' },
      { match: '*', reply: 'I will ask a colleague, who answers here.' },
    ],
    default: true,
  });
  await chat.putAgent('manuals', {
    name: 'Service manuals',
    kind: 'agent',
    model: 'gpt-4o-mini',
    instructions: 'Answer from the manuals, in short sentences.',
    knowledge: 'documents',
  });
  const botPath = `${ADMIN}/bots/helpdesk`;
  await call('PUT', botPath, {
    key,
    json: {
      verification: { mode: 'project_number', audience: '123456789012' },
      agent_id: 'reception',
      welcome_text: 'Good morning',
    },
  });
  const other = createChatClient(call, { workspace, key, channel: 'email/inbox/service' });
  await other.newSession({ agi_id: 'manuals' });
  const manuals = await chat.newSession({ agi_id: 'manuals' });
  await chat.ask(manuals.name, 'Pump manual');
  const made = await chat.newSession({ agi_id: 'reception' });
  const answered = await chat.ask(made.name, 'When are you open?');
  await chat.ask(made.name, 'Can I bring back a pump?');
  await chat.feedback(answered.message_id, { is_positive: true, feedback_text: 'Quick and clear' });
  await chat.addAgentMessage(made.chat_session_id, {
    message: 'Yes, within thirty days.',
    agent_id: 'grace@example.com',
  });
  return made.chat_session_id;
}

async function useModels(call: Caller, keys: readonly string[]): Promise<void> {
  const bearers = [keys[0], keys[2], key];
  for (const [at, bearer] of bearers.entries())
    for (let count = 0; count < 6 - at; count++) {
      const headers = { authorization: `Bearer ${bearer}` };
      const model = ['gpt-4o-mini', 'gpt-4o-mini', 'claude-haiku', 'gpt-4o'][count % 4];
      const messages = [{ role: 'user', content: 'Summarise the manual of the pump in three sentences.' }];
      await call('POST', '/v1/chat/completions', { headers, json: { model, messages } });
      await call('POST', '/v1/embeddings', {
        headers,
        json: { model: 'text-embedding-3-small', input: 'Pump' },
      });
    }
}

async function sendEvents(url: string): Promise<void> {
  const types = ['page.viewed', 'search.performed', 'report.exported'];
  const events = Array.from({ length: 24 }, (_, at) => ({
    specversion: '1.0',
    id: `sample-${at}`,
    source: at % 3 === 0 ? 'intranet' : 'shop',
    type: types[at % types.length],
    subject: ['ada@example.com', 'grace@example.com', 'emmy@example.com'][at % 3],
    data: { value: 1 + (at % 5) },
  }));
  await fetch(`${url}/api/v1/workspace_metric/${workspace}/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/cloudevents-batch+json', APIKeyHeader: key },
    body: JSON.stringify(events),
  });
}

/** The sums of today's hours again for the days before, each a little different: the calls themselves cannot be dated back. */
async function spreadOverDays(sql: Sql): Promise<void> {
  await waitForSums(sql);
  await waitForTexts(sql);
  const factor = sql`(2 + (day * 7 + extract(hour from hour)::int) % 9 - CASE WHEN day % 7 IN (1, 2) THEN 2 ELSE 0 END)`;
  await sql`
    INSERT INTO model_usage (workspace_id, hour, key_id, endpoint, model, target, outcome, requests, estimated,
      prompt_tokens, completion_tokens, cost, latency_ms, first_events, first_event_ms, latency_histogram,
      first_event_histogram)
    SELECT workspace_id, hour - make_interval(days => day), key_id, endpoint, model, target, outcome, requests * f,
      estimated * f, prompt_tokens * f * 90, completion_tokens * f * 90, cost * f * 90, latency_ms * f, first_events * f,
      first_event_ms * f, latency_histogram * f, first_event_histogram * f
    FROM (SELECT *, ${factor} AS f FROM model_usage, generate_series(1, ${DAYS - 1}) AS day) days`;
  await sumModelDays(sql);
  await sql`
    INSERT INTO trends (workspace_id, name, at, value)
    SELECT ${workspace}, name, date_trunc('day', now() AT TIME ZONE 'UTC') - make_interval(days => day), round(last * (1 - day / 40.0))
    FROM (VALUES ('documents', 12), ('bytes', 600000)) AS measured (name, last), generate_series(1, ${DAYS - 1}) AS day
    UNION ALL
    SELECT '', 'events_waiting', date_trunc('hour', now() AT TIME ZONE 'UTC') - make_interval(hours => hour), CASE WHEN hour % 24 BETWEEN 2 AND 4 THEN hour % 24 ELSE 0 END
    FROM generate_series(1, 200) AS hour
    ON CONFLICT DO NOTHING`;
  for (const table of ['usage_by_source', 'usage_by_subject']) {
    const name = sql(table === 'usage_by_source' ? 'source' : 'subject');
    await sql`
      INSERT INTO ${sql(table)} (workspace_id, hour, type, ${name}, events, value)
      SELECT workspace_id, hour - make_interval(days => day), type, ${name}, events * f, value * f
      FROM (SELECT *, ${factor} AS f FROM ${sql(table)}, generate_series(1, ${DAYS - 1}) AS day) days`;
  }
}

async function waitForTexts(sql: Sql): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const [row] = await sql<{ done: boolean }[]>`
      SELECT NOT EXISTS (SELECT FROM document_contents WHERE state = 'pending') AS done`;
    if (row?.done === true) return;
    await Bun.sleep(100);
  }
  throw new Error('the files are not read');
}

async function waitForSums(sql: Sql): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const [row] = await sql<{ done: boolean }[]>`
      SELECT (SELECT coalesce(sum(requests), 0) FROM model_usage) >= 30
        AND (SELECT coalesce(sum(events), 0) FROM usage_by_source WHERE source IN ('shop', 'intranet')) >= 24 AS done`;
    if (row?.done === true) return;
    await Bun.sleep(100);
  }
  throw new Error('what was used is not summed');
}
