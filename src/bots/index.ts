// Area D: bots. Events of chat apps are verified, and answered once each by conversations of the chat area.

import { Elysia } from 'elysia';
import type { Converse } from '../chat/converse.ts';
import { createCachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { AreaWithRoutes, Routes } from '../http/area.ts';
import type { Sql } from '../infra/postgres/client.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import type { Bot, BotReference } from './bot.ts';
import { createKeySets } from './key-sets.ts';
import { ANSWER_TIMEOUT_MS, CACHE_TTL_MS, CACHED_BOTS_MAX, WORKSPACE_LENGTH_MAX } from './limits.ts';
import { createAnswerEvent } from './operations/answer-event.ts';
import { createReplySweep } from './reply-sweep.ts';
import { botNotFound, registrationRoutes } from './routes/registration.ts';
import { testEventRoutes } from './routes/test-event.ts';
import { createTakeEvent, webhookRoutes } from './routes/webhook.ts';
import { isBotId } from './schema.ts';
import { createBotStore } from './store/bots.ts';
import { createReplyStore } from './store/replies.ts';
import { createTestIssuer } from './test-issuer.ts';
import { createVerify } from './verify.ts';

export type BotAdministrationDeps = {
  sql: Sql;
  requireWorkspace(id: string): Promise<void>;
  /** Drops the cached bot; absent where there is no cache. */
  forget?(reference: BotReference): void;
  clock: Clock;
};

/** The registrations alone, for the command line. */
export const createBotAdministration =
  ({ sql, requireWorkspace, forget = () => undefined, clock }: BotAdministrationDeps): Routes =>
  (http) =>
    registrationRoutes(http, { store: createBotStore(sql), requireWorkspace, forget, clock });

export type BotsDeps = Omit<BotAdministrationDeps, 'forget'> & {
  invalidation: Pick<Invalidation, 'subscribe' | 'connected'>;
  converse: Converse;
  log: Logger;
  answerTimeoutMs?: number;
};

export function createBots({
  sql,
  invalidation,
  requireWorkspace,
  converse,
  clock,
  log,
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
}: BotsDeps): AreaWithRoutes {
  const replies = createReplyStore(sql);
  const bots = createCachedLookup<Bot>({
    load: (key) => createBotStore(sql).find(toReference(key)),
    ttlMs: CACHE_TTL_MS,
    entriesMax: CACHED_BOTS_MAX,
    usable: invalidation.connected,
  });
  invalidation.subscribe('bots', bots.drop, bots.reset);

  const requireBot = async (reference: BotReference): Promise<Bot> => {
    // A name that no bot can have is neither looked up nor cached.
    const possible = isBotId(reference.id) && reference.workspaceId.length <= WORKSPACE_LENGTH_MAX;
    const bot = possible ? await bots.get(toKey(reference)) : undefined;
    if (bot === undefined) throw botNotFound();
    return bot;
  };
  const forget = (reference: BotReference): void => bots.drop(toKey(reference));

  const keySets = createKeySets({ log });
  const take = createTakeEvent(createAnswerEvent({ converse, replies, answerTimeoutMs, clock, log }));

  return {
    routes: (http) =>
      new Elysia({ name: 'bots' })
        .use(webhookRoutes(http, { requireBot, verify: createVerify({ keySets, clock, log }), take }))
        .use(
          testEventRoutes(http, { requireBot, sign: createTestIssuer({ keySets, clock, log }), take, clock }),
        )
        .use(createBotAdministration({ sql, requireWorkspace, forget, clock })(http)),
    jobs: [createReplySweep({ sql, replies, clock, log })],
    checks: [],
    metrics: [],
  };
}

/** The key of the database's notifications; a workspace's name has no slash. */
const toKey = ({ workspaceId, id }: BotReference): string => `${workspaceId}/${id}`;

function toReference(key: string): BotReference {
  const slash = key.indexOf('/');
  return { workspaceId: key.slice(0, slash), id: key.slice(slash + 1) };
}
