// The service under load: a library whose questions have answers, a model that repeats what it is told, a bot, a key, and somebody who
// is signed in to the portal.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postFile } from '../../test/acceptance/support/uploads.ts';
import { eventually, startChild } from '../../test/support/child.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../../test/support/service.ts';
import { readCollections } from '../knowledge/collection.ts';
import { type BuiltService, build, startBuilt } from '../lib/service.ts';

export type Setting = AsyncDisposable & {
  service: BuiltService;
  /** What the scenarios have to know (bench/load/lib.js), as a file. */
  file: string;
  /** The servers of its own that the service uses, by their settings; none where all parts are embedded. */
  configured: string[];
};

const MODEL = 'echo';
const BOT = 'load';
const MANUALS = join(import.meta.dir, '../knowledge/manuals');
const NOTES = 40;
const TAGS = ['manual', 'pump', 'north', 'south'];
const SCOPES = ['documents:read', 'documents:write', 'models', 'chat', 'bots', 'metrics', 'admin'];
const ANSWERED_WITHIN_MS = 180_000;
const PASSAGES_SHOWN = 5;
/** These variables of the caller are the service's, too. */
const OF_SERVERS = /^(DATABASE_URL|S3_|MEILI_|NATS_|PROCESSES$)/;
/** Of new files; they have nothing to do with the manuals, so that a question keeps its answer. */
const TEXTS = [
  'The committee met at nine and agreed on the date of the summer party. Ada brings the cake.',
  'Room seven has new chairs. The old ones go to the school, which has asked for them since spring.',
  'The choir sings on Friday. Whoever wants to join comes half an hour early, and brings a friend.',
];

export async function startSetting(environment: Record<string, string> = {}): Promise<Setting> {
  await using begun = new AsyncDisposableStack();
  build();
  const folder = mkdtempSync(join(tmpdir(), 'atrium-load-'));
  begun.defer(() => rmSync(folder, { recursive: true, force: true }));
  const upstream = startChild([process.execPath, join(import.meta.dir, 'upstream.ts')]);
  begun.defer(upstream.stop);
  const origin = await eventually('the upstream', () => /listens on (\S+)\s/.exec(upstream.output())?.[1]);
  const models = join(folder, 'models.yaml');
  await Bun.write(
    models,
    JSON.stringify({
      upstreams: { echo: { base_url: `${origin}/v1`, retries: 0 } },
      models: { [MODEL]: { endpoints: ['chat'], targets: [{ upstream: 'echo', model: MODEL }] } },
      defaults: { chat: MODEL },
    }),
  );
  const servers = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      OF_SERVERS.test(name) && value !== undefined ? [[name, value]] : [],
    ),
  );
  const service = await startBuilt({
    folder,
    environment: { MODELS_CONFIG: models, LOG_LEVEL: 'warn', ...servers, ...environment },
  });
  begun.use(service);
  const file = join(folder, 'setting.json');
  await Bun.write(file, JSON.stringify(await prepare(service.url)));
  const kept = begun.move();
  return {
    service,
    file,
    configured: Object.keys(servers),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function prepare(url: string): Promise<object> {
  const ask = async (
    method: string,
    path: string,
    json?: unknown,
    key = BOOTSTRAP_KEY,
  ): Promise<Response> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { APIKeyHeader: key, 'content-type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  const administration = `/admin/api/workspaces/${WORKSPACE}`;
  const made = await ask('POST', `${administration}/keys`, { name: 'load', scopes: SCOPES });
  const { key } = (await made.json()) as { key: string };
  await ask('PUT', `${administration}/bots/${BOT}`, { verification: { mode: 'key' } });
  const signedIn = await ask('POST', '/admin/api/session', { key });
  const [collection] = readCollections(MANUALS, { languages: ['en'], questions: 10_000 });
  if (collection === undefined) throw new Error('there is no manual');
  const sections = sectionsOf(collection.documents[0] ?? '');
  const notes = Array.from({ length: NOTES }, (_, index) => `Note ${index}. ${TEXTS[index % TEXTS.length]}`);
  const texts = [...sections, ...notes];
  const documents = await Promise.all(
    texts.map((text, index) =>
      store(ask, `text-${index}.md`, { text, tag: TAGS[index % TAGS.length] ?? '' }),
    ),
  );
  const asked = collection.questions.flatMap(({ text, answers: [answer = ''] }) => {
    const at = sections.findIndex((section) => section.includes(answer));
    return at === -1 ? [] : [{ query: text, name: documents[at]?.name ?? '' }];
  });
  const event = { specversion: '1.0', id: 'first', source: 'load', type: 'report.made', data: { value: 1 } };
  await sendEvent(url, key, event);
  return {
    url,
    key,
    workspace: WORKSPACE,
    model: MODEL,
    bot: BOT,
    tags: TAGS,
    texts: TEXTS,
    documents,
    cookie: (signedIn.headers.get('set-cookie') ?? '').split(';')[0],
    since: new Date(Date.now() - 7 * 24 * 3_600_000).toISOString(),
    questions: await answered(ask, asked),
  };
}

/** A heading with its paragraphs. */
const sectionsOf = (manual: string): string[] =>
  manual.split(/\n\n(?=[^\n.]+\n\n)/).map((section) => section.trim());

async function sendEvent(url: string, key: string, event: object): Promise<void> {
  const answer = await fetch(`${url}/api/v1/workspace_metric/${WORKSPACE}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/cloudevents+json' },
    body: JSON.stringify(event),
  });
  if (answer.status !== 202) throw new Error(`an event is answered ${answer.status}`);
}

type Ask = (method: string, path: string, json?: unknown) => Promise<Response>;

async function store(ask: Ask, name: string, { text, tag }: { text: string; tag: string }) {
  const form = (await (await ask('GET', `/v1/${WORKSPACE}/presigned/url`)).json()) as {
    url: string;
    fields: Record<string, string>;
  };
  const posted = await postFile(form, text);
  if (posted.status !== 204) throw new Error(`the store answers ${posted.status}`);
  const confirmed = await ask('POST', `/v1/${WORKSPACE}/upload/confirm`, {
    temp_key: form.fields['key'],
    document_metadata: { name, tags: [tag] },
  });
  const { id } = (await confirmed.json()) as { id: string };
  return { id, name, size: text.length };
}

type Asked = { query: string; name: string };

const STEADY_ROUNDS = 10;

/** The questions whose document is among the passages, as soon as all documents are read and their vectors found. */
async function answered(ask: Ask, questions: readonly Asked[]): Promise<Asked[]> {
  const retrieve = async (query: string) => {
    const body = { query, limit: PASSAGES_SHOWN };
    const answer = await ask('POST', `/v1/${WORKSPACE}/retrieve`, body);
    return (await answer.json()) as { engine: string; passages: { name: string }[] };
  };
  const finds = async ({ query, name }: Asked): Promise<boolean> =>
    (await retrieve(query)).passages.some((passage) => passage.name === name);
  // A document that is read or embedded later changes the ranks: what is found has to stay the same for a while.
  let before = '';
  let rounds = 0;
  return eventually(
    'the library to answer questions',
    async () => {
      const [first] = questions;
      if (first === undefined || !(await finds(first))) return undefined;
      if ((await retrieve(first.query)).engine.includes('not available')) return undefined;
      const found = await Promise.all(questions.map(finds));
      const own = questions.filter((_, index) => found[index]);
      rounds = before === found.join() ? rounds + 1 : 0;
      before = found.join();
      return own.length > questions.length / 2 && rounds >= STEADY_ROUNDS ? own : undefined;
    },
    ANSWERED_WITHIN_MS,
  );
}
