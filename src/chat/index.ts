// Area C: conversations. A channel's message is taken once, answered once, in order, with memory.

import { Elysia } from 'elysia';
import { createCachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import type { WakeEventMover } from '../core/event.ts';
import { newRandomId } from '../core/ids.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import { parseJson } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import type { StreamChat } from '../gateway/chat-call.ts';
import type { AreaWithRoutes, Routes } from '../http/area.ts';
import type { Sql } from '../infra/postgres/client.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import { createSweep } from '../infra/postgres/sweep.ts';
import { createAcceptQuestion } from './accept.ts';
import { type Converse, createConverse, type VisibleToPerson } from './converse.ts';
import { createGenerate } from './generate.ts';
import { createKnowledge } from './knowledge/index.ts';
import type { RetrievePassages } from './knowledge/passages.ts';
import type { SearchDocuments } from './knowledge/records.ts';
import { AGENT_TTL_MS, CACHED_AGENTS_MAX, RETENTION_INTERVAL_MS } from './limits.ts';
import { createMemory } from './memory.ts';
import { chatMetrics, createCounts, createRetrievalCounts } from './metrics.ts';
import { createLease } from './pending-answer.ts';
import { createRecovery } from './recovery.ts';
import { agentRoutes } from './routes/agents.ts';
import { createShowCitations, type VisibleDocuments } from './routes/answers.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { messageRoutes } from './routes/messages.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { createSessionQueue } from './session-queue.ts';
import { type Agent, type AgentNames, createAgentStore } from './store/agents.ts';
import { createMessageStore } from './store/messages.ts';
import { createRecoveryStore } from './store/recovery.ts';
import { createConversationRetention } from './store/retention.ts';
import { createSessionStore } from './store/sessions.ts';
import { createTurnStore } from './store/turns.ts';

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
  onInterrupt: OnInterrupt;
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

export function createChat(deps: ChatDeps): AreaWithRoutes & { converse: Converse } {
  const { sql, invalidation, streamChat, searchDocuments, retrieve, requireWorkspace, wakeMover, log } = deps;
  const owner = newRandomId();
  const stores = {
    agents: createAgentStore(sql),
    sessions: createSessionStore(sql),
    messages: createMessageStore(sql),
    turns: createTurnStore(sql, owner),
  };
  const agents = createCachedLookup<Agent>({
    load: (key) => stores.agents.select(parseJson(key) as AgentNames),
    ttlMs: AGENT_TTL_MS,
    entriesMax: CACHED_AGENTS_MAX,
    usable: invalidation.connected,
  });
  invalidation.subscribe('chat-agents', agents.reset, agents.reset);

  const memory = createMemory(stores.turns);
  const counts = createCounts();
  const retrievals = createRetrievalCounts();
  const lease = createLease();
  const line = createSessionQueue({
    store: stores.turns,
    lease,
    generate: createGenerate({
      agents,
      memory,
      knowledge: createKnowledge({
        retrieve,
        searchDocuments,
        counts: retrievals,
        log,
        timeoutMs: deps.settings.retrievalTimeoutMs,
      }),
      streamChat,
    }),
    memory,
    counts,
    wakeMover,
    log,
  });
  const ignore = (): void => undefined;
  invalidation.subscribe('chat-first', (answerId) => line.isFirst(Number(answerId)), ignore);
  invalidation.subscribe('chat-deleted', (answerId) => line.drop(Number(answerId)), ignore);
  invalidation.subscribe('chat-stopped', (answerId) => line.stop(Number(answerId)), ignore);
  invalidation.subscribe('chat-over', (answerId) => line.isOver(Number(answerId)), ignore);
  deps.onInterrupt(line.interrupt);
  const accept = createAcceptQuestion({ store: stores.turns, line, wakeMover });
  const show = createShowCitations(deps.visibleDocuments);

  const { retentionDays } = deps.settings;
  const retention = createSweep({
    sql,
    name: 'chat.retention',
    intervalMs: RETENTION_INTERVAL_MS,
    horizon: () => new Date(deps.clock.now().getTime() - retentionDays * DAY_MS),
    deleteSome: createConversationRetention(sql).deleteSome,
    log,
  });

  return {
    routes: (http) =>
      new Elysia({ name: 'chat' })
        .use(conversationRoutes(http, { sessions: stores.sessions, accept, show, wakeMover }))
        .use(sessionRoutes(http, { ...stores, show, wakeMover }))
        .use(messageRoutes(http, { store: stores.messages, follow: line.follow, wakeMover }))
        .use(agentRoutes(http, { store: stores.agents, requireWorkspace, changed: agents.reset })),
    jobs: [
      createRecovery({
        store: createRecoveryStore(sql, owner),
        turns: stores.turns,
        lease,
        line,
        counts,
        log,
      }),
      ...(retentionDays === 0 ? [] : [retention]),
    ],
    checks: [],
    metrics: chatMetrics(counts, retrievals, line.length),
    converse: createConverse({ ...stores, accept, visibleToPerson: deps.visibleToPerson, wakeMover }),
  };
}

/** The administration of agents alone: running processes hear of changes from the database. */
export const createAgentAdministration =
  (sql: Sql, requireWorkspace: (id: string) => Promise<void>): Routes =>
  (http) =>
    agentRoutes(http, { store: createAgentStore(sql), requireWorkspace, changed: () => undefined });
