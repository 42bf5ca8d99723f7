// Workspaces, their users and their keys: authentication, and the administration of access.

import { Elysia } from 'elysia';
import { createCachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import type { WakeEventMover } from '../core/event.ts';
import type { Logger } from '../core/logger.ts';
import { createPeriodic } from '../core/periodic.ts';
import { type Principal, type RemainingLimits, SCOPES } from '../core/principal.ts';
import type { Routes } from '../http/area.ts';
import type { Http } from '../http/http.ts';
import type { Sql } from '../infra/postgres/client.ts';
import type { Invalidation } from '../infra/postgres/invalidation.ts';
import { auditRoutes, auditSweep, createAuditStore } from './audit.ts';
import { Commits, createAuthentication, createLastUses } from './authentication.ts';
import { createBootstrap } from './bootstrap.ts';
import { keyRoutes } from './keys.ts';
import { PRINCIPAL_TTL_MS, PRINCIPALS_MAX, SESSION_SWEEP_MS } from './limits.ts';
import { meRoutes } from './me.ts';
import { createSessions, openSessionRoutes, sessionRoutes } from './sessions.ts';
import { createSignInDelay, createSignIns } from './sign-ins.ts';
import { createSignOn } from './sign-on/index.ts';
import { signOnRoutes } from './sign-on/routes.ts';
import type { SignOnSettings } from './sign-on/settings.ts';
import { createKeyStore } from './store/keys.ts';
import { createSessionStore } from './store/sessions.ts';
import { createSignOnStore } from './store/sign-on.ts';
import { createUserStore } from './store/users.ts';
import { userRoutes } from './users.ts';
import { administratorOf } from './workspace-names.ts';
import { createWorkspaceStore, workspaceRoutes } from './workspaces.ts';

export { createBootstrap } from './bootstrap.ts';
export { SIGN_ON_SETTINGS, toSignOnSettings } from './sign-on/settings.ts';
export { explainWorkspaceName, WORKSPACE_NAME_FORM } from './workspace-names.ts';
export { hasWorkspaces } from './workspaces.ts';

export type AccessDeps = {
  sql: Sql;
  invalidation: Pick<Invalidation, 'subscribe' | 'connected'>;
  wakeMover: WakeEventMover;
  clock: Clock;
  log: Logger;
  /** `signOn`: undefined where no provider is configured. */
  settings: { auditRetentionDays: number; signOn?: SignOnSettings | undefined };
};

export type Access = ReturnType<typeof createAccess>;

export function createAccess(deps: AccessDeps) {
  const { sql, invalidation, clock, log, settings } = deps;
  const stores = {
    workspaces: createWorkspaceStore(sql),
    users: createUserStore(sql),
    keys: createKeyStore(sql),
    sessions: createSessionStore(sql),
    audit: createAuditStore(sql),
  };
  const lastUses = createLastUses({ store: stores.keys, log });
  const authentication = createAuthentication({ store: stores.keys, invalidation, lastUses, clock });
  const commits = new Commits(authentication, deps.wakeMover);
  const openSessions = createCachedLookup({
    load: stores.sessions.find,
    ttlMs: PRINCIPAL_TTL_MS,
    entriesMax: PRINCIPALS_MAX,
    usable: invalidation.connected,
  });
  invalidation.subscribe('access', openSessions.drop, openSessions.reset);
  const administration = { workspaces: stores.workspaces, commits, clock };
  const signIns = createSignIns({ store: stores.sessions, log });
  const sessions = createSessions({
    ...administration,
    store: stores.sessions,
    sessions: openSessions,
    authentication,
    delay: createSignInDelay(),
    signIns,
  });
  const { auditRetentionDays } = settings;
  const signOn =
    settings.signOn &&
    createSignOn({ settings: settings.signOn, store: createSignOnStore(sql), signIns, commits, clock, log });

  return {
    routes: (http: Http) =>
      new Elysia({ name: 'access' })
        .use(workspaceRoutes(http, stores.workspaces, clock))
        .use(userRoutes(http, { store: stores.users, ...administration }))
        .use(keyRoutes(http, { store: stores.keys, ...administration }))
        .use(sessionRoutes(http, sessions))
        .use(openSessionRoutes(http, sessions))
        .use(signOnRoutes(http, signOn))
        .use(auditRoutes(http, stores.audit, stores.workspaces)),
    authenticators: { key: authentication.authenticate, session: sessions.authenticate },
    jobs: [
      lastUses.job,
      createPeriodic({
        name: 'access.sessions',
        intervalMs: SESSION_SWEEP_MS,
        run: () => stores.sessions.deleteEnded(clock.now()),
        log,
      }),
      ...(auditRetentionDays === 0 ? [] : [auditSweep(sql, auditRetentionDays, { clock, log })]),
    ],
    checks: [],
    metrics: [],
    /** A user of a workspace; undefined when no user there has this id. */
    findUser: stores.users.find,
    /** Likewise, by e-mail in lower case. */
    findUserByEmail: stores.users.findByEmail,
    /** The names of keys of the workspace, revoked ones included; unknown ids are left out. */
    describeKeys: stores.keys.describe,
    /** Throws 404 for a workspace that does not exist. */
    requireWorkspace: stores.workspaces.require,
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
