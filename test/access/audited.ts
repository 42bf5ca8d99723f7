// A service whose audit log is read over HTTP and in its database.

import { expect } from 'bun:test';
import { newId } from '../../src/core/ids.ts';
import { testDatabase } from '../support/database.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';

export const BASE = `/admin/api/workspaces/${WORKSPACE}`;

export type Body = {
  id: string;
  key: string;
  created_at: string;
  items: Entry[];
  next_cursor: string | null;
};
export type Entry = {
  id: string;
  created_at: string;
  action: string;
  actor: string;
  via: string;
  user_id: string | null;
  key_id: string | null;
  address: string | null;
  request_id: string | null;
  object: { kind: string; id: string | null };
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
};
export type Answer = { status: number; body: Body; headers: Headers };
type Ask = { key?: string | undefined; json?: unknown; headers?: Record<string, string> };

export async function startAudited() {
  const database = await testDatabase();
  const { sql } = database;
  const service = await startService({ environment: { DATABASE_URL: database.url } });
  const [owner] = await sql<{ id: string; email: string }[]>`SELECT id, email FROM users`;
  const [bootstrap] = await sql<{ id: string }[]>`SELECT id FROM keys`;
  /** Texts that must stand in no row: keys, their hashes, cookies, and what bots' key sets have in private. */
  const secrets = new Set([BOOTSTRAP_KEY]);

  async function ask(
    method: string,
    path: string,
    { key = BOOTSTRAP_KEY, json, headers = {} }: Ask = {},
  ): Promise<Answer> {
    const response = await fetch(`${service.url}${path}`, {
      method,
      headers: {
        ...(key === '' ? {} : { APIKeyHeader: key }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    const body = (text === '' ? {} : JSON.parse(text)) as Body;
    if (typeof body.key === 'string') secrets.add(body.key);
    return { status: response.status, body, headers: response.headers };
  }

  const list = async (
    query = '',
    { path = `${BASE}/audit`, key }: { path?: string; key?: string } = {},
  ): Promise<Entry[]> => {
    const answer = await ask('GET', `${path}?${query}`, { key });
    expect(answer).toMatchObject({ status: 200 });
    return answer.body.items;
  };

  const made = async (path: string, json: unknown): Promise<Body> => {
    const { status, body } = await ask('POST', `${BASE}${path}`, { json });
    expect(status).toBeLessThan(300);
    return body;
  };
  const newUser = () => made('/users', { email: `${newId()}@example.com`, name: 'Ada' });
  const newKey = (email?: string) => made('/keys', { name: 'k', scopes: ['models'], user_email: email });

  return {
    sql,
    url: database.url,
    ownerId: owner?.id ?? '',
    ownerEmail: owner?.email ?? '',
    bootstrapId: bootstrap?.id,
    secrets,
    ask,
    list,
    made,
    newUser,
    newKey,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
