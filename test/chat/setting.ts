// The chat area with its routes, on a database of the test's own. Several on one database stand for several processes.

import type { Converse } from '../../src/chat/converse.ts';
import { createChat } from '../../src/chat/index.ts';
import type { RetrievePassages } from '../../src/chat/knowledge.ts';
import type { SearchDocuments } from '../../src/chat/records.ts';
import type { VisibleDocuments } from '../../src/chat/routes/answers.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLifecycle } from '../../src/core/lifecycle.ts';
import { type Principal, SCOPES, type Scope } from '../../src/core/principal.ts';
import { explainOutage, type Sql } from '../../src/infra/postgres/client.ts';
import { createInvalidation } from '../../src/infra/postgres/invalidation.ts';
import { type Answer, type Caller, requestOf } from '../acceptance/support/caller.ts';
import { type ChatClient, createChatClient } from '../support/chat-client.ts';
import { connectTo, silentLog, testDatabase } from '../support/database.ts';
import { type OutboxEvent, readOutbox } from '../support/outbox.ts';
import { serveRoutes } from '../support/serve-routes.ts';
import { createFakeModel, type FakeModel } from './fake-model.ts';

const WORKSPACE = 'acme';
export const KEY = 'the-key-of-the-test';
export const EMAIL = 'owner@example.com';

const PRINCIPAL: Principal = {
  keyId: '019a9f3e-8d00-7c31-8e02-51b7c9d0e4f2',
  workspaceId: WORKSPACE,
  userId: '019a9f3e-7c1b-7d52-9a44-2f60c1d3b7aa',
  email: EMAIL,
  scopes: new Set(SCOPES),
  limits: { requests_per_minute: 100 },
};

/** The key of somebody with an e-mail at example.com and the scope `chat` beside those that are given. */
export const keyOf = (name: string, ...scopes: Scope[]): string => [name, 'chat', ...scopes].join(' ');

function principalOf(key: string): Principal | undefined {
  if (key === KEY) return PRINCIPAL;
  const [name = '', ...scopes] = key.split(' ') as [string, ...Scope[]];
  if (scopes.length === 0) return undefined;
  return { ...PRINCIPAL, keyId: key, userId: name, email: `${name}@example.com`, scopes: new Set(scopes) };
}

export type ChatProcess = ChatClient & {
  /** The same process, for another key. */
  as(key: string): ChatClient;
  fetch(request: Request): Promise<Response>;
  converse: Converse;
  model: FakeModel;
  settle(): Promise<void>;
  stop(): Promise<void>;
  /** Cuts it off from the database, as a process that died is. */
  sever(): Promise<void>;
};

type StartOptions = {
  model?: FakeModel;
  searchDocuments?: SearchDocuments;
  retrieve?: RetrievePassages;
  /** Default: every document is visible to everybody. */
  visibleDocuments?: VisibleDocuments;
  /** Default: conversations are kept. */
  retentionDays?: number;
  /** Is told of each statement. */
  onStatement?(text: string): void;
};

export type ChatSetting = AsyncDisposable & {
  sql: Sql;
  /** What its processes have caused, in order. */
  events(): Promise<OutboxEvent[]>;
  start(options?: StartOptions): Promise<ChatProcess>;
};

export async function startSetting(): Promise<ChatSetting> {
  const database = await testDatabase();
  await database.sql`INSERT INTO workspaces (id, name) VALUES (${WORKSPACE}, 'Acme')`;
  const started: ChatProcess[] = [];
  return {
    sql: database.sql,
    events: () => readOutbox(database.sql),
    async start(options = {}) {
      const chat = await startChat(database.url, options);
      started.push(chat);
      return chat;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map((each) => each.stop()));
      await database.drop();
    },
  };
}

async function startChat(url: string, options: StartOptions): Promise<ChatProcess> {
  const { model = createFakeModel(), searchDocuments = async () => ({ documents: [], total: 0 }) } = options;
  const { retrieve = async () => ({ passages: [] }) } = options;
  const { retentionDays = 0 } = options;
  const { visibleDocuments = async (_, ids) => new Set(ids), onStatement } = options;
  const connected = connectTo(url);
  const sql = onStatement === undefined ? connected : watched(connected, onStatement);
  const invalidation = createInvalidation({ sql, log: silentLog });
  const { routes, jobs, converse } = createChat({
    requireWorkspace: async () => undefined,
    visibleToPerson: async (_, ids) => new Set(ids.filter((id) => id !== 'hidden')),
    sql,
    invalidation,
    searchDocuments,
    retrieve,
    visibleDocuments,
    log: silentLog,
    streamChat: model.streamChat,
    clock: systemClock,
    settings: { retrievalTimeoutMs: 60_000, retentionDays },
    wakeMover: () => undefined,
    shutdown: new AbortController().signal,
  });
  const served = serveRoutes([routes], {
    authenticators: () => ({ key: principalOf, session: async () => undefined }),
    log: silentLog,
    explainFailure: explainOutage,
  });
  const lifecycle = createLifecycle(jobs, silentLog);
  await invalidation.start();
  await lifecycle.start();
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await lifecycle.stop(10_000);
    model.release();
    await invalidation.close();
    await sql.end({ timeout: 1 });
  };
  const fetch = async (request: Request): Promise<Response> => served.fetch(request);
  return {
    ...createChatClient(inProcess(fetch), { workspace: WORKSPACE, key: KEY }),
    as: (key) => createChatClient(inProcess(fetch), { workspace: WORKSPACE, key }),
    fetch,
    converse,
    model,
    settle: lifecycle.settle,
    stop: () => (stopping ??= stop()),
    async sever() {
      await invalidation.close();
      await sql.end({ timeout: 0 });
    },
  };
}

const inProcess =
  (fetch: (request: Request) => Promise<Response>): Caller =>
  async (method, path, options = {}): Promise<Answer> => {
    const response = await fetch(new Request(`http://localhost${path}`, requestOf(method, options)));
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

/** Fragments are no statements of their own: only what is awaited is handled. */
const watched = (sql: Sql, onStatement: (text: string) => void): Sql =>
  new Proxy(sql, {
    apply(target, self, words) {
      const query = Reflect.apply(target, self, words);
      const { handle } = query;
      let isCounted = false;
      query.handle = () => {
        if (!isCounted) onStatement(String(words[0].join('?')));
        isCounted = true;
        return handle.call(query);
      };
      return query;
    },
  });
