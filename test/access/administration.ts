// The access area on a database of its own, asked as the service would ask it; several instances stand for several
// processes.

import type { TSchema } from '@sinclair/typebox';
import { createAccess } from '../../src/access/index.ts';
import { createLifecycle } from '../../src/core/lifecycle.ts';
import type { Logger } from '../../src/core/logger.ts';
import type { Scope } from '../../src/core/principal.ts';
import type { Operation } from '../../src/http/routes.ts';
import { createValidator } from '../../src/http/validation.ts';
import { connectPostgres, explainOutage, type Sql } from '../../src/infra/postgres/client.ts';
import { createInvalidation } from '../../src/infra/postgres/invalidation.ts';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { serveRoutes } from '../support/serve-routes.ts';

export const OPERATOR_KEY = 'operator-key-of-the-tests-0123456789';
export const WORKSPACE = 'acme';

/** A clock that tests move; it starts at the real time, for the database's own clock is real. */
export function createTestClock() {
  let aheadMs = 0;
  return {
    now: () => new Date(Date.now() + aheadMs),
    advance: (ms: number): void => {
      aheadMs += ms;
    },
  };
}
export type TestClock = ReturnType<typeof createTestClock>;

type Ask = { key?: string; body?: unknown; headers?: Record<string, string>; origin?: string };

/** What answers hold, as far as tests look at it. */
export type Fields = {
  id: string;
  key: string;
  name: string | null;
  email: string;
  scopes: Scope[];
  user_email: string;
  limits: object;
  disabled: boolean;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  items: Fields[];
  next_cursor: string | null;
  detail: unknown;
};

/** `body` is empty where the answer's text is. */
export type Answer = { status: number; body: Fields; text: string; headers: Headers };

export type Instance = Awaited<ReturnType<typeof startInstance>>;

/** One process: its own pool, its own caches, its own listening connection. */
export async function startInstance(options: { url: string; clock?: TestClock; lines?: object[] }) {
  const { url, clock = createTestClock(), lines = [] } = options;
  const keepLine = (fields: object, message: string): void => {
    lines.push({ ...fields, message });
  };
  const log: Logger = { debug: keepLine, info: keepLine, warn: keepLine, error: keepLine };
  const sql = connectPostgres({ url, applicationName: 'test', log });
  const lookups = watchLookups(sql);
  const listener = watchListener(sql);
  const invalidation = createInvalidation({ sql: listener.sql, log });
  const wakeMover = () => undefined;
  const settings = { auditRetentionDays: 0 };
  const access = createAccess({ sql: lookups.sql, invalidation, wakeMover, clock, log, settings });
  const notices: string[] = [];
  invalidation.subscribe(
    'access',
    (hash) => notices.push(hash),
    () => undefined,
  );
  const jobs = [
    { name: 'invalidation', start: invalidation.start, stop: invalidation.close },
    ...access.jobs,
  ];
  const lifecycle = createLifecycle(jobs, log);
  await lifecycle.start();
  const { http, fetch } = serveRoutes([access.routes], {
    access: (entry) => log.info(entry, 'request'),
    authenticators: () => access.authenticators,
    log,
    explainFailure: explainOutage,
  });
  const routes = http.operations().map((operation) => ({
    method: operation.method,
    requireDocumented: documentedAnswers(operation),
    pattern: new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));

  const ask = async (method: string, path: string, options: Ask = {}): Promise<Answer> => {
    const { key, body, headers = {}, origin = 'http://localhost' } = options;
    const url = new URL(path, origin);
    const route = routes.find((each) => each.method === method && each.pattern.test(url.pathname));
    if (route === undefined) throw new Error(`no route for ${method} ${path}`);
    const response = await fetch(
      new Request(url, {
        method,
        headers: { ...(key === undefined ? {} : { APIKeyHeader: key }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    );
    const text = await response.text();
    route.requireDocumented(response.status, text);
    return { status: response.status, body: JSON.parse(text || '{}'), text, headers: response.headers };
  };
  return {
    access,
    operations: http.operations,
    ask,
    clock,
    sql,
    lookups,
    cutListener: listener.cut,
    restoreListener: listener.restore,
    notices,
    invalidation,
    lifecycle,
    lines,
    async stop() {
      await lifecycle.stop(5_000);
      await sql.end({ timeout: 1 });
    },
  };
}

/** Throws for a status that the operation does not list, and for a body that is not of its schema. */
function documentedAnswers({ id, responses }: Operation) {
  const checks = new Map(
    Object.entries(responses).map(([status, { schema }]) => [
      Number(status),
      schema === undefined ? (body: unknown) => body === undefined : createCheck(schema),
    ]),
  );
  return (status: number, text: string): void => {
    const check = checks.get(status);
    if (check === undefined) throw new Error(`${id} does not list the status ${status}: ${text}`);
    if (!check(text === '' ? undefined : JSON.parse(text)))
      throw new Error(`${id} answers ${status} with another body than it lists: ${text}`);
  };
}

function createCheck(schema: TSchema): (body: unknown) => boolean {
  const validate = createValidator(schema);
  return (body) => validate(body, []).entries.length === 0;
}

/** A pool that counts the look-ups of keys, and can keep the answer of the next one back. */
function watchLookups(sql: Sql) {
  let count = 0;
  let held: { read(): void; released: Promise<void> } | undefined;
  const watched = new Proxy(sql, {
    apply(target, self, parameters: unknown[]) {
      const [first] = parameters;
      const statement = Reflect.apply(target, self, parameters);
      const isLookup = Array.isArray(first) && first.join('').includes('AND NOT disabled');
      if (!isLookup) return statement;
      count++;
      const hold = held;
      held = undefined;
      if (hold === undefined) return statement;
      return statement.then((rows: unknown) => {
        hold.read();
        return hold.released.then(() => rows);
      });
    },
  });
  return {
    sql: watched,
    count: () => count,
    /** The next look-up reads the database as usual, but its answer arrives only after `release`. */
    holdNext(): { read: Promise<void>; release(): void } {
      const read = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      held = { read: read.resolve, released: gate.promise };
      return { read: read.promise, release: gate.resolve };
    },
  };
}

/** A pool that knows its listening connection, whatever that connection was last asked. */
function watchListener(sql: Sql) {
  let pid: Promise<number> | undefined;
  let isAway = false;
  return {
    sql: {
      reserve(...options: Parameters<Sql['reserve']>) {
        if (isAway) throw new Error('the test lets no listening connection be opened');
        const connection = sql.reserve(...options);
        pid = connection.unsafe('SELECT pg_backend_pid() AS pid').then(([row]) => Number(row?.['pid']));
        // Where there is no connection, the listener says so itself.
        pid.catch(() => undefined);
        return connection;
      },
    },
    /** Ends exactly the connection that listens at present; there is no other until `restore`. */
    async cut(): Promise<void> {
      isAway = true;
      const [ended] = await sql`SELECT pg_terminate_backend(${(await pid) ?? 0}) AS done`;
      if (ended?.['done'] !== true) throw new Error('there is no listening connection to cut');
    },
    restore(): void {
      isAway = false;
    },
  };
}

/** What notices of a change name a key, or a cookie's value, by. */
export const hashOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex');

/** Waits until the process has been told of the key's making and has the key in its cache. */
export async function cacheKey({ access, notices }: Instance, text: string): Promise<void> {
  await eventually('the notice of the key', () => notices.includes(hashOf(text)));
  await access.authenticators.key(text);
  if (access.authenticators.key(text) instanceof Promise) throw new Error('the key is not cached');
}

export type Administration = Awaited<ReturnType<typeof startAdministration>>;

/** A database with the workspace `acme` and OPERATOR_KEY, and one process on it; further ones on demand. */
export async function startAdministration() {
  const database = await testDatabase();
  const instances: Instance[] = [];
  const start = async (options: { clock?: TestClock } = {}): Promise<Instance> => {
    const instance = await startInstance({ url: database.url, ...options });
    instances.push(instance);
    return instance;
  };
  const first = await start();
  await first.access.bootstrap({ workspace: WORKSPACE, key: OPERATOR_KEY });

  return {
    ...first,
    first,
    database,
    start,
    /** A key of the workspace with these scopes, made by the operator. */
    async makeKey(scopes: readonly Scope[], fields: object = {}, workspace = WORKSPACE): Promise<Fields> {
      const made = await first.ask('POST', `/admin/api/workspaces/${workspace}/keys`, {
        key: OPERATOR_KEY,
        body: { name: 'test', scopes, ...fields },
      });
      if (made.status !== 201) throw new Error(`no key: ${made.text}`);
      return made.body;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(instances.map((instance) => instance.stop()));
      await database.drop();
    },
  };
}
