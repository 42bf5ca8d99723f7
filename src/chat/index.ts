// Area C: conversations. A channel's message is accepted once and answered once, in order, with memory.

import { Elysia } from 'elysia';
import type { Clock } from '../core/clock.ts';
import type { WakeEventMover } from '../core/event.ts';
import { newRandomId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { StreamChat } from '../gateway/chat-call.ts';
import type { AreaWithRoutes, Routes } from '../http/area.ts';
import type { Sql } from '../infra/postgres/client.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import { createSweep } from '../infra/postgres/sweep.ts';
import { createAgentCache, createAgentStore } from './agents.ts';
import { createAnswers } from './answers.ts';
import { type Converse, createConverse, type VisibleToPerson } from './converse.ts';
import { createGenerate } from './generate.ts';
import { createKnowledge, type RetrievePassages } from './knowledge.ts';
import { RETENTION_INTERVAL_MS } from './limits.ts';
import { createMessageStore } from './messages.ts';
import { chatMetrics, createCounts } from './metrics.ts';
import type { SearchDocuments } from './records.ts';
import { agentRoutes } from './routes/agents.ts';
import { createShowCitations, type VisibleDocuments } from './routes/answers.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { messageRoutes } from './routes/messages.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { createSessionStore } from './sessions.ts';
import { createTurns } from './turns.ts';

export type ChatDeps = {
  sql: Sql;
  invalidation: Pick<Invalidation, 'subscribe' | 'connected'>;
  streamChat: StreamChat;
  searchDocuments: SearchDocuments;
  retrieve: RetrievePassages;
  visibleDocuments: VisibleDocuments;
  visibleToPerson: VisibleToPerson;
  requireWorkspace(id: string): Promise<void>;
  wakeMover: WakeEventMover;
  /** Leaves unfinished answers to other processes, and ends the requests that wait for them with 503. */
  shutdown: AbortSignal;
  log: Logger;
  clock: Clock;
  settings: {
    /** The time after which an answer is made without what is not found yet. */
    retrievalTimeoutMs: number;
    /** Conversations are deleted after so many days without a message; 0: never. */
    retentionDays: number;
  };
};

const DAY_MS = 86_400_000;

export function createChat(deps: ChatDeps) {
  const { sql, invalidation, requireWorkspace, wakeMover, log, clock, settings } = deps;
  const agentStore = createAgentStore(sql);
  const agents = createAgentCache(agentStore, invalidation);
  const sessions = createSessionStore(sql);
  const messages = createMessageStore(sql);
  const turns = createTurns(sql, newRandomId(), agents.find);
  const counts = createCounts();
  const knowledge = createKnowledge({
    retrieve: deps.retrieve,
    searchDocuments: deps.searchDocuments,
    counts,
    log,
    timeoutMs: settings.retrievalTimeoutMs,
  });
  const generate = createGenerate({ sql, agents, knowledge, streamChat: deps.streamChat });
  const answers = createAnswers({ turns, counts, log }, generate, wakeMover);
  const ignore = (): void => undefined;
  // A look that fails is made up for within a second.
  invalidation.subscribe('chat', (answerId) => void answers.look([Number(answerId)]).catch(ignore), ignore);
  deps.shutdown.addEventListener('abort', answers.interrupt, { once: true });
  const show = createShowCitations(deps.visibleDocuments);
  const retention = createSweep({
    sql,
    name: 'chat.retention',
    intervalMs: RETENTION_INTERVAL_MS,
    horizon: () => new Date(clock.now().getTime() - settings.retentionDays * DAY_MS),
    deleteSome: sessions.deleteExpired,
    log,
  });
  return {
    routes: (http) =>
      new Elysia({ name: 'chat' })
        .use(conversationRoutes(http, { sessions, answers }, show, wakeMover))
        .use(sessionRoutes(http, { sessions, messages }, show, wakeMover))
        .use(messageRoutes(http, { messages, answers }, wakeMover))
        .use(agentRoutes(http, agentStore, requireWorkspace, agents.reset)),
    jobs: [...answers.jobs, ...(settings.retentionDays === 0 ? [] : [retention])],
    checks: [],
    metrics: chatMetrics(counts, answers.length),
    converse: createConverse({ sessions, messages, answers }, deps.visibleToPerson, wakeMover),
  } satisfies AreaWithRoutes & { converse: Converse };
}

/** The administration of agents alone: running processes hear of changes from the database. */
export const createAgentAdministration =
  (sql: Sql, requireWorkspace: (id: string) => Promise<void>): Routes =>
  (http) =>
    agentRoutes(http, createAgentStore(sql), requireWorkspace);
