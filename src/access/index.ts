// Workspaces, their users and their keys: authentication, and the administration of access.

import { Elysia } from 'elysia';
import { createCachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import { notFound } from '../core/errors.ts';
import type { WakeEventMover } from '../core/event.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import { type Principal, type RemainingLimits, SCOPES } from '../core/principal.ts';
import type { AreaWithRoutes, Routes } from '../http/area.ts';
import type { Authenticators } from '../http/credentials.ts';
import type { Sql } from '../infra/postgres/client.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import { createSweep } from '../infra/postgres/sweep.ts';
import { createAudit } from './audit.ts';
import { createAuthentication } from './authentication.ts';
import { type BootstrapOutcome, type BootstrapRequest, createBootstrap } from './bootstrap.ts';
import { createKeys } from './keys.ts';
import { createLastUses } from './last-uses.ts';
import {
  AUDIT_SWEEP_MS,
  AUDIT_SWEEP_ROWS,
  DAY_MS,
  PRINCIPAL_TTL_MS,
  PRINCIPALS_MAX,
  SESSION_SWEEP_MS,
} from './limits.ts';
import { auditRoutes } from './routes/audit.ts';
import { keyRoutes } from './routes/keys.ts';
import { meRoutes } from './routes/me.ts';
import { openSessionRoutes, sessionRoutes } from './routes/session.ts';
import { signOnRoutes } from './routes/sign-on.ts';
import { userRoutes } from './routes/users.ts';
import { workspaceRoutes } from './routes/workspaces.ts';
import { createSessions } from './sessions.ts';
import { createSignInDelay } from './sign-in-delay.ts';
import { createSignIns } from './sign-ins.ts';
import { createSignOn } from './sign-on/index.ts';
import type { SignOnSettings } from './sign-on/settings.ts';
import { createAuditStore } from './store/audit.ts';
import { createKeyStore, type KeyDescription } from './store/keys.ts';
import { createSessionStore } from './store/sessions.ts';
import { createSignOnStore } from './store/sign-on.ts';
import { createUserStore, type UserReference } from './store/users.ts';
import { createWorkspaceStore } from './store/workspaces.ts';
import { administratorOf } from './workspace-names.ts';

export { createBootstrap } from './bootstrap.ts';
export { SIGN_ON_SETTINGS, toSignOnSettings } from './sign-on/settings.ts';
export { hasWorkspaces } from './store/workspaces.ts';
export { explainWorkspaceName, WORKSPACE_NAME_FORM } from './workspace-names.ts';

export type AccessDeps = {
  sql: Sql;
  /** For what requests wait for before anything else; default `sql`. */
  lookUpSql?: Sql;
  invalidation: Pick<Invalidation, 'subscribe' | 'connected'>;
  wakeMover: WakeEventMover;
  clock: Clock;
  log: Logger;
  /** `signOn`: undefined where no provider is configured. */
  settings: { auditRetentionDays: number; signOn?: SignOnSettings | undefined };
};

export type Access = AreaWithRoutes & {
  authenticators: Authenticators;
  /** A user of a workspace; undefined when no user there has this id. */
  findUser(reference: UserReference): Promise<{ id: string; email: string } | undefined>;
  /** Likewise, by e-mail in lower case. */
  findUserByEmail(workspaceId: string, email: string): Promise<{ id: string } | undefined>;
  /** The names of keys of the workspace, revoked ones included; unknown ids are left out. */
  describeKeys(workspaceId: string, ids: readonly string[]): Promise<KeyDescription[]>;
  /** Throws 404 for a workspace that does not exist. */
  requireWorkspace(id: string): Promise<void>;
  bootstrap(request: BootstrapRequest): Promise<BootstrapOutcome>;
};

export function createAccess(deps: AccessDeps): Access {
  const { sql, lookUpSql = sql, invalidation, wakeMover, clock, log, settings } = deps;
  const stores = {
    workspaces: createWorkspaceStore(sql),
    users: createUserStore(sql),
    keys: createKeyStore(sql),
    sessions: createSessionStore(sql),
    audit: createAuditStore(sql),
  };
  const lookUps = {
    workspaces: createWorkspaceStore(lookUpSql),
    users: createUserStore(lookUpSql),
    keys: createKeyStore(lookUpSql),
    sessions: createSessionStore(lookUpSql),
  };
  const lastUses = createLastUses({ store: stores.keys, log });
  const informed = invalidation.connected;
  const authentication = createAuthentication({ store: lookUps.keys, informed, lastUses, clock });
  const openSessions = createCachedLookup({
    load: lookUps.sessions.find,
    ttlMs: PRINCIPAL_TTL_MS,
    entriesMax: PRINCIPALS_MAX,
    usable: informed,
  });
  invalidation.subscribe('access', authentication.drop, authentication.reset);
  invalidation.subscribe('access', openSessions.drop, openSessions.reset);

  // The database notifies the other processes; this one drops its entries before it answers.
  const forget = (keyHashes: readonly string[]): void => keyHashes.forEach(authentication.drop);
  const requireWorkspace = async (id: string): Promise<void> => {
    if (!(await lookUps.workspaces.exists(id))) throw notFound('Workspace not found');
  };
  const administration = { requireWorkspace, forget, wakeMover, clock };
  const { sessions: store } = stores;
  const signIns = createSignIns({ store, log });
  const sessions = createSessions({
    store,
    requireWorkspace,
    sessions: openSessions,
    authentication,
    delay: createSignInDelay(),
    signIns,
    wakeMover,
    clock,
  });

  const { auditRetentionDays } = settings;
  const signOn =
    settings.signOn &&
    createSignOn({
      settings: settings.signOn,
      store: createSignOnStore(sql),
      signIns,
      forget,
      wakeMover,
      clock,
      log,
    });

  const auditSweep = createSweep({
    sql,
    name: 'access.audit',
    intervalMs: AUDIT_SWEEP_MS,
    horizon: () => new Date(clock.now().getTime() - auditRetentionDays * DAY_MS),
    deleteSome: (before) => stores.audit.deleteSome(before, AUDIT_SWEEP_ROWS),
    log,
  });

  return {
    routes: (http) =>
      new Elysia({ name: 'access' })
        .use(workspaceRoutes(http, stores.workspaces, clock))
        .use(userRoutes(http, { store: stores.users, ...administration }))
        .use(keyRoutes(http, createKeys({ store: stores.keys, ...administration })))
        .use(sessionRoutes(http, sessions))
        .use(openSessionRoutes(http, sessions))
        .use(signOnRoutes(http, signOn))
        .use(auditRoutes(http, createAudit({ store: stores.audit, requireWorkspace }))),
    authenticators: { key: authentication.authenticate, session: sessions.authenticate },
    jobs: [
      lastUses.job,
      createPeriodic({
        name: 'access.sessions',
        intervalMs: SESSION_SWEEP_MS,
        run: () => stores.sessions.deleteEnded(clock.now()),
        log,
      }),
      ...(auditRetentionDays === 0 ? [] : [auditSweep]),
    ],
    checks: [],
    metrics: [],
    findUser: lookUps.users.find,
    findUserByEmail: lookUps.users.findByEmail,
    describeKeys: stores.keys.describe,
    requireWorkspace,
    bootstrap: createBootstrap({ sql, clock, log }),
  };
}

type SelfServiceDeps = { sql: Sql; remaining(principal: Principal): Promise<RemainingLimits> };

/** The operations of a key about itself. `remaining`: the remainders of its limits, as the gateway enforces them. */
export const createSelfService =
  ({ sql, remaining }: SelfServiceDeps): Routes =>
  (http) =>
    meRoutes(http, { store: createKeyStore(sql), remaining });

/** A caller who can open the database itself has every scope, and acts as the workspace's administrator. */
export const trustedOperator = (workspaceId: string): Principal => ({
  keyId: 'local',
  userId: 'local',
  workspaceId,
  email: administratorOf(workspaceId),
  scopes: new Set(SCOPES),
  limits: {},
  via: 'command-line',
});
