// Single sign-on at a real provider, as a browser meets it: the service, the provider, its people, and what tests ask of them.

import { expect } from 'bun:test';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { testDatabase } from '../support/database.ts';
import { CLIENT_ID, CLIENT_SECRET, type Fake, startProvider } from '../support/oidc/provider.ts';
import type { Page, Visitor } from '../support/oidc/visitor.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';

const ROLES = [
  { group: 'administrators', workspace: WORKSPACE, scopes: ['admin', 'chat'] },
  { group: 'writers', workspace: WORKSPACE, scopes: ['documents:write', 'chat'] },
  {
    group: 'limited',
    workspace: WORKSPACE,
    scopes: ['chat'],
    limits: { requests_per_minute: 5, budget_per_month: 2.5 },
  },
  { claim: 'realm_access.roles', value: 'research', workspace: 'research', scopes: ['chat'] },
  { group: 'elsewhere', workspace: 'no-such-workspace', scopes: ['chat'] },
];

const settingsFor = (databaseUrl: string, issuer: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  OIDC_ISSUER: issuer,
  OIDC_CLIENT_ID: CLIENT_ID,
  OIDC_CLIENT_SECRET: CLIENT_SECRET,
  OIDC_ROLES: JSON.stringify(ROLES),
  OIDC_NAME: 'Example <Login>',
  OIDC_SESSION_SECONDS: '3600',
});

/** The page says what to do, leads to the portal's sign-in, and sets no session. */
export function expectProblem(page: Page, problem: string, status: number): void {
  expect([page.status, page.text.match(/url=([^"]+)"/)?.[1]]).toEqual([
    status,
    `/admin/sign-in?problem=${problem}`,
  ]);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.getSetCookie().filter((line) => line.startsWith('atrium_session='))).toEqual([]);
}

/** The service with a provider of its own, on a database of its own. */
export async function startSignOn() {
  const provider = await startProvider();
  const database = await testDatabase();
  const settings = settingsFor(database.url, provider.issuer);
  // The provider answers only once it knows the service: the service has started before.
  const service = await startService({ environment: settings });
  const { url, child } = service;
  provider.register(url);
  const sql = connectPostgres({ url: database.url, applicationName: 'test', log: { warn() {} } as never });
  const host = new URL(url).hostname;
  const providerHost = new URL(provider.issuer).hostname;
  let persons = 0;

  /** Goes to the provider and signs in there; the address to which the provider sends the browser back, not yet loaded. */
  async function comeBack(visitor: Visitor, name: string, query = ''): Promise<string> {
    const until = /\/admin\/sign-on\/callback/;
    const form = await visitor.visit(`${url}/admin/sign-on${query}`, { until });
    if (until.test(form.url)) return form.url;
    const back = await visitor.visit(form.url, { via: [providerHost], form: { login: name }, until });
    expect(back.url).toStartWith(`${url}/admin/sign-on/callback?`);
    return back.url;
  }

  const callback = (visitor: Visitor, address: string): Promise<Page> =>
    visitor.load(address, { via: [providerHost] });

  return {
    provider,
    settings,
    url,
    sql,
    host,
    providerHost,
    comeBack,
    callback,
    /** What the service has written, whole lines alone. */
    output: (): string => child.output().slice(0, child.output().lastIndexOf('\n') + 1),

    /** A person of the provider who is new to the service. */
    newPerson(claims: Record<string, unknown> = {}) {
      const name = `person-${++persons}`;
      const email = `${name}@example.com`;
      provider.people.set(name, {
        email,
        email_verified: true,
        name: `Name of ${name}`,
        groups: ['writers'],
        ...claims,
      });
      return { name, email };
    },

    signIn: async (visitor: Visitor, name: string, query = ''): Promise<Page> =>
      callback(visitor, await comeBack(visitor, name, query)),

    /** The session of the visitor's browser. */
    async own(visitor: Visitor) {
      const page = await visitor.load(`${url}/admin/api/session`, { via: [host] });
      return { status: page.status, body: JSON.parse(page.text) };
    },

    /** A request of an operator. */
    async ask(path: string, method = 'GET', body?: object) {
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: { APIKeyHeader: BOOTSTRAP_KEY, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
    },

    /** While `work` runs, the provider is replaced by the fake where that answers. */
    async withFake(answer: Fake, work: () => Promise<void>): Promise<void> {
      provider.fake.answer = answer;
      try {
        await work();
      } finally {
        provider.fake.answer = undefined;
      }
    },

    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await sql.end({ timeout: 1 });
      await database.drop();
      await provider[Symbol.asyncDispose]();
    },
  };
}
