// Area D: bots. Events of chat apps are verified, and answered once each by conversations of the chat area.

import { Elysia } from 'elysia';
import type { Converse } from '../chat/converse.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { AreaWithRoutes, Routes } from '../http/area.ts';
import type { Sql } from '../infra/postgres/client.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import { createSweep } from '../infra/postgres/sweep.ts';
import { createEventAnswerer } from './answer-event.ts';
import { createBotStore } from './bots.ts';
import { createKeySets } from './key-sets.ts';
import { ANSWER_TIMEOUT_MS, REPLY_RETENTION_MS, REPLY_SWEEP_INTERVAL_MS } from './limits.ts';
import { createReplyStore } from './replies.ts';
import { registrationRoutes } from './routes/registration.ts';
import { testEventRoutes } from './routes/test-event.ts';
import { webhookRoutes } from './routes/webhook.ts';
import { createTokenVerifier } from './verify.ts';

export type BotAdministrationDeps = {
  sql: Sql;
  requireWorkspace(id: string): Promise<void>;
  clock: Clock;
};

/** The registrations alone, for the command line. */
export const createBotAdministration =
  ({ sql, requireWorkspace, clock }: BotAdministrationDeps): Routes =>
  (http) =>
    registrationRoutes(http, createBotStore(sql), requireWorkspace, clock);

export type BotsDeps = BotAdministrationDeps & {
  invalidation: Pick<Invalidation, 'subscribe' | 'connected'>;
  converse: Converse;
  log: Logger;
};

export function createBots(deps: BotsDeps) {
  const { sql, invalidation, requireWorkspace, converse, clock, log } = deps;
  const bots = createBotStore(sql, invalidation);
  const replies = createReplyStore(sql);
  const tokens = createTokenVerifier(createKeySets(log), clock, log);
  const answerTimeoutMs = ANSWER_TIMEOUT_MS;
  const events = createEventAnswerer({ converse, replies, answerTimeoutMs, clock, log });
  const sweep = createSweep({
    sql,
    name: 'bots.replies',
    intervalMs: REPLY_SWEEP_INTERVAL_MS,
    horizon: () => new Date(clock.now().getTime() - REPLY_RETENTION_MS),
    deleteSome: replies.deleteSome,
    log,
  });
  return {
    routes: (http) =>
      new Elysia({ name: 'bots' })
        .use(webhookRoutes(http, { bots, tokens, events }))
        .use(testEventRoutes(http, { bots, tokens, events, clock }))
        .use(registrationRoutes(http, bots, requireWorkspace, clock)),
    jobs: [sweep],
    checks: [],
    metrics: [],
  } satisfies AreaWithRoutes;
}
