// The operations of the interface that are called every day, on a workspace as a small company has it.

import { KEY, postForm, WORKSPACE } from './side.ts';

/** What an operation works on; the documents are in order of creation. */
export type Library = { url: string; documents: readonly string[]; binned: readonly string[] };

export type Operation = {
  name: string;
  /** The part of the time of before that it may take; absent: no more than before. */
  bar?: number;
  /** The status of the answer to the n-th of all requests; `line`: which of those in flight asks. */
  ask(library: Library, n: number, line: number): Promise<Response>;
};

export const IN_FLIGHT = 16;
const DOCUMENTS = 300;
const BINNED = 30;
const SESSIONS = 200;
const EVENTS = 500;
const LINES = Array.from({ length: IN_FLIGHT }, (_, line) => line);

const JSON_TYPE = { 'content-type': 'application/json' };
const DOCUMENTS_KEY = { APIKeyHeader: KEY };
const CHAT_KEY = { 'svc-key': KEY, ...JSON_TYPE };
const MODELS_KEY = { authorization: `Bearer ${KEY}`, ...JSON_TYPE };
const EVENTS_KEY = { authorization: `Bearer ${KEY}` };
const EVENTS_PATH = `/api/v1/workspace_metric/${WORKSPACE}`;
const CHANNEL = `${WORKSPACE}/bench/widget/shop`;

const get =
  (path: string, headers: Record<string, string>) =>
  ({ url }: Library): Promise<Response> =>
    fetch(`${url}${path}`, { headers });

const send = (
  method: string,
  target: string,
  headers: Record<string, string>,
  body: object,
): Promise<Response> => fetch(target, { method, headers, body: JSON.stringify(body) });

const patch =
  (change: (n: number) => object) =>
  ({ url, documents }: Library, n: number): Promise<Response> =>
    send(
      'PUT',
      `${url}/v1/metadata/${WORKSPACE}/${documents[n % documents.length]}`,
      { ...DOCUMENTS_KEY, ...JSON_TYPE },
      change(n),
    );

/** Of a line of questions, so that none waits for another one of its session. */
const sessionOf = (line: number): string => `line-${line}`;

const openSession = (url: string, session: string): Promise<Response> =>
  send('POST', `${url}/api/v1/chat/messages/create-chat-session/${CHANNEL}`, CHAT_KEY, {
    agi_id: 'nobody',
    channel_session_id: session,
  });

const event = (id: string) => ({
  specversion: '1.0',
  id,
  source: '/bench',
  type: `bench.${Number.parseInt(id.slice(0, 2), 16) % 5}`,
  subject: `person-${id.slice(0, 1)}@example.com`,
  time: '2026-01-31T10:00:00.123Z',
  data: { value: 1, model: 'local-echo', prompt_tokens: 812, completion_tokens: 97, session: id },
});

const sendEvent = (url: string): Promise<Response> =>
  send(
    'POST',
    `${url}${EVENTS_PATH}/events`,
    { ...EVENTS_KEY, 'content-type': 'application/cloudevents+json' },
    event(crypto.randomUUID()),
  );

const QUESTION = 'What does a message of an ordinary length cost, from the question to the stored answer?';

export const OPERATIONS: readonly Operation[] = [
  { name: 'root', ask: get('/', {}) },
  {
    name: 'search: a tag, 43 found, page of 50',
    ask: get(`/v1/filter/${WORKSPACE}?tags=any:t1`, DOCUMENTS_KEY),
  },
  { name: 'search: everything, page of 50', ask: get(`/v1/filter/${WORKSPACE}`, DOCUMENTS_KEY) },
  {
    name: 'detail by id',
    ask: ({ url, documents }, n) =>
      fetch(`${url}/v1/metadata/${WORKSPACE}/${documents[n % DOCUMENTS]}/detail`, { headers: DOCUMENTS_KEY }),
  },
  {
    name: 'download URL',
    ask: ({ url, documents }, n) =>
      fetch(`${url}/v1/${WORKSPACE}/file/${documents[n % DOCUMENTS]}/download/url`, {
        headers: DOCUMENTS_KEY,
      }),
  },
  {
    name: 'upload: descriptor, form, confirm',
    ask: async ({ url }, n) => confirm(url, await postForm(url), n),
  },
  {
    name: 'patch of a summary',
    bar: 0.5,
    ask: patch((n) => ({ summary: `The summary number ${n} of it.` })),
  },
  { name: 'patch of a slot', bar: 0.5, ask: patch((n) => ({ slots: { number: n } })) },
  { name: 'patch of the tags', bar: 0.5, ask: patch((n) => ({ tags: [`t${n % 7}`, `n${n % 5}`] })) },
  { name: 'bin list', ask: get(`/v1/${WORKSPACE}/trash`, DOCUMENTS_KEY) },
  {
    name: 'history',
    ask: ({ url, documents }) =>
      fetch(`${url}/v1/${WORKSPACE}/file/${documents[0]}/history`, { headers: DOCUMENTS_KEY }),
  },
  { name: 'folders', ask: get(`/v1/metadata/${WORKSPACE}/folders/list`, DOCUMENTS_KEY) },
  { name: 'events page of 50', bar: 0.5, ask: get(`${EVENTS_PATH}/by_created_at?size=50`, EVENTS_KEY) },
  { name: 'events summary', ask: get(`${EVENTS_PATH}/summary`, EVENTS_KEY) },
  { name: 'one event', ask: ({ url }) => sendEvent(url) },
  { name: 'session again', ask: ({ url }, _, line) => openSession(url, sessionOf(line)) },
  { name: 'sessions page', bar: 0.5, ask: get(`/api/v1/chat/sessions/${WORKSPACE}`, CHAT_KEY) },
  {
    name: 'message with the local echo',
    bar: 0.5,
    ask: ({ url }, _, line) =>
      send(
        'POST',
        `${url}/api/v1/chat/messages/send-message/${CHANNEL}/bychannelsession/${sessionOf(line)}`,
        CHAT_KEY,
        {
          message: QUESTION,
          channel_user_message_id: crypto.randomUUID(),
          channel_assistant_message_id: crypto.randomUUID(),
        },
      ),
  },
  {
    name: 'one embedding',
    bar: 0.5,
    ask: ({ url }) =>
      send('POST', `${url}/${WORKSPACE}/v1/embeddings`, MODELS_KEY, {
        model: 'local-multilingual-e1',
        input: QUESTION,
      }),
  },
  {
    name: 'echo chat',
    ask: ({ url }) =>
      send('POST', `${url}/v1/chat/completions`, MODELS_KEY, {
        model: 'local-echo',
        messages: [{ role: 'user', content: QUESTION }],
      }),
  },
  { name: 'models', ask: get('/v1/models', MODELS_KEY) },
  { name: '/compute?n=1', ask: get('/compute?n=1', {}) },
  { name: 'keys page', ask: get(`/admin/api/workspaces/${WORKSPACE}/keys`, DOCUMENTS_KEY) },
];

async function confirm(url: string, key: string, n: number): Promise<Response> {
  return send(
    'POST',
    `${url}/v1/${WORKSPACE}/upload/confirm`,
    { ...DOCUMENTS_KEY, ...JSON_TYPE },
    {
      temp_key: key,
      document_metadata: {
        name: `report ${n} of the quarter.txt`,
        tags: [`t${n % 7}`, `n${n % 5}`],
        categories: [`c${n % 3}`],
        summary: `What the report number ${n} says, in one sentence.`,
        slots: { number: n, kind: `kind ${n % 4}` },
      },
    },
  );
}

/** Fills a fresh workspace through the interface. */
export async function fill(url: string): Promise<Library> {
  const documents: string[] = [];
  const binned: string[] = [];
  await inLines(DOCUMENTS + BINNED, async (n) => {
    const { id } = (await (await checked(confirm(url, await postForm(url), n))).json()) as { id: string };
    documents[n] = id;
  });
  await inLines(BINNED, async (n) => {
    const id = documents[DOCUMENTS + n] ?? '';
    binned.push(id);
    await checked(fetch(`${url}/v1/${WORKSPACE}/${id}`, { method: 'DELETE', headers: DOCUMENTS_KEY }));
  });
  for (const line of LINES) await checked(openSession(url, sessionOf(line)));
  await inLines(SESSIONS, async (n) => void (await checked(openSession(url, `session-${n}`))));
  await inLines(EVENTS, async () => void (await checked(sendEvent(url))));
  return { url, documents: documents.slice(0, DOCUMENTS), binned };
}

async function inLines(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    LINES.map(async () => {
      while (next < count) await work(next++);
    }),
  );
}

export async function checked(asked: Promise<Response>): Promise<Response> {
  const answer = await asked;
  if (answer.ok) return answer;
  throw new Error(`${answer.url} was answered ${answer.status}: ${await answer.text()}`);
}
