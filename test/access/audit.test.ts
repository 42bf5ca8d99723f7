// The audit log: each change has its row, in the transaction of the change, without secrets.

import { describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { COMMANDS } from '../../src/admin/commands.ts';
import { newId } from '../../src/core/ids.ts';
import { encodeRow } from '../../src/usage/row.ts';
import { createDeadLetterStore } from '../../src/usage/store/dead-letters.ts';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { allRoutes } from '../support/generated-pages.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());
const { sql } = database;
const service = await shared(startService({ environment: { DATABASE_URL: database.url } }));
const ADMIN = join(import.meta.dir, '../../src/admin.ts');
const BASE = `/admin/api/workspaces/${WORKSPACE}`;
const [OWNER] = await sql<{ id: string; email: string }[]>`SELECT id, email FROM users`;
const [BOOTSTRAP] = await sql<{ id: string }[]>`SELECT id FROM keys`;

/** Texts that must stand in no row: keys, their hashes, cookies, and what bots' key sets have in private. */
const secrets = new Set([BOOTSTRAP_KEY]);

type Body = { id: string; key: string; created_at: string; items: Entry[]; next_cursor: string | null };
type Entry = {
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
type Answer = { status: number; body: Body; headers: Headers };
type Ask = { key?: string | undefined; json?: unknown; headers?: Record<string, string> };

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

const made = async (path: string, json: unknown): Promise<Body> => {
  const { status, body } = await ask('POST', `${BASE}${path}`, { json });
  expect(status).toBeLessThan(300);
  return body;
};
const newUser = () => made('/users', { email: `${newId()}@example.com`, name: 'Ada' });
const newKey = (email?: string) => made('/keys', { name: 'k', scopes: ['models'], user_email: email });

async function binned(count = 1): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status, status_before_bin, deleted_at)
    SELECT gen_random_uuid(), ${WORKSPACE}, gen_random_uuid(), ${OWNER?.id ?? ''}, 'a.txt',
      ${WORKSPACE} || '/' || gen_random_uuid() || '.txt', 'deleted', 'private', now()
    FROM generate_series(1, ${count}) RETURNING id`;
  return rows.map(({ id }) => id);
}

async function deadLetter(): Promise<void> {
  const row = encodeRow({
    ...{ id: newId(), eventId: newId(), workspaceId: WORKSPACE, type: 'a.b', source: 'test', subject: '' },
    ...{ timeMicroseconds: 1_000_000n, data: '{"value":1}', extensions: null, value: '1' },
  });
  await createDeadLetterStore(sql).add({ workspaceId: WORKSPACE, reason: 'refused', row });
}

async function signIn(key = BOOTSTRAP_KEY): Promise<{ status: number; cookie: string }> {
  const { status, headers } = await ask('POST', '/admin/api/session', { key: '', json: { key } });
  const cookie = /^[^;]+/.exec(headers.get('set-cookie') ?? '')?.[0] ?? '';
  if (cookie !== '') secrets.add(cookie.replace('atrium_session=', ''));
  return { status, cookie };
}

const AGENT = { name: 'Helper', kind: 'persona', instructions: 'Be brief. '.repeat(5000) };
const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
/** A bot with a key set of its own; its keys have a member that is not to be known. */
const bot = (secret: string) => {
  secrets.add(secret);
  const set = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', note: secret }] };
  return { verification: { mode: 'project_number', audience: '123456789012', jwks: set } };
};

type Change = { audits: string; object: string; make: () => Promise<() => Promise<{ status: number }>> };

/** Each operation that is audited: what has to be there before, and the call. */
const CHANGES: Record<string, Change> = {
  'access.create-workspace': {
    audits: 'access.create-workspace',
    object: 'workspace',
    make: async () => () =>
      ask('POST', '/admin/api/workspaces', { json: { id: `w${newId().slice(0, 13)}` } }),
  },
  'access.create-user': {
    audits: 'access.create-user',
    object: 'user',
    make: async () => () => ask('POST', `${BASE}/users`, { json: { email: `${newId()}@example.com` } }),
  },
  'access.update-user': {
    audits: 'access.update-user',
    object: 'user',
    async make() {
      const { id } = await newUser();
      return () => ask('PATCH', `${BASE}/users/${id}`, { json: { name: 'Grace' } });
    },
  },
  'access.delete-user': {
    audits: 'access.delete-user',
    object: 'user',
    async make() {
      const { id } = await newUser();
      return () => ask('DELETE', `${BASE}/users/${id}`);
    },
  },
  'access.create-key': {
    audits: 'access.create-key',
    object: 'key',
    make: async () => () => ask('POST', `${BASE}/keys`, { json: { name: 'n', scopes: ['chat'] } }),
  },
  'access.update-key': {
    audits: 'access.update-key',
    object: 'key',
    async make() {
      const { id } = await newKey();
      return () => ask('PATCH', `${BASE}/keys/${id}`, { json: { disabled: true } });
    },
  },
  'access.rotate-key': {
    audits: 'access.rotate-key',
    object: 'key',
    async make() {
      const { id } = await newKey();
      return () => ask('POST', `${BASE}/keys/${id}/rotate`, { json: { grace_seconds: 60 } });
    },
  },
  'access.revoke-key': {
    audits: 'access.revoke-key',
    object: 'key',
    async make() {
      const { id } = await newKey();
      return () => ask('DELETE', `${BASE}/keys/${id}`);
    },
  },
  'access.open-session': {
    audits: 'access.open-session',
    object: 'session',
    make: async () => () => signIn(),
  },
  'access.close-session': {
    audits: 'access.close-session',
    object: 'session',
    async make() {
      const { cookie } = await signIn();
      return () => ask('DELETE', '/admin/api/session', { key: '', headers: { cookie } });
    },
  },
  'chat.put-agent': {
    audits: 'chat.put-agent',
    object: 'agent',
    make: async () => () => ask('PUT', `${BASE}/agents/${newId()}`, { json: AGENT }),
  },
  'chat.delete-agent': {
    audits: 'chat.delete-agent',
    object: 'agent',
    async make() {
      const path = `${BASE}/agents/${newId()}`;
      await ask('PUT', path, { json: AGENT });
      return () => ask('DELETE', path);
    },
  },
  'bots.put': {
    audits: 'bots.put',
    object: 'bot',
    make: async () => () => ask('PUT', `${BASE}/bots/${newId()}`, { json: bot(`s3cret-${newId()}`) }),
  },
  'bots.delete': {
    audits: 'bots.delete',
    object: 'bot',
    async make() {
      const path = `${BASE}/bots/${newId()}`;
      await ask('PUT', path, { json: bot(`s3cret-${newId()}`) });
      return () => ask('DELETE', path);
    },
  },
  'metrics.replay-dead-letters': {
    audits: 'metrics.replay-dead-letters',
    object: 'dead-letters',
    async make() {
      await deadLetter();
      return () => ask('POST', `${BASE}/dead-letters/replay`);
    },
  },
  'metrics.purge-dead-letters': {
    audits: 'metrics.purge-dead-letters',
    object: 'dead-letters',
    async make() {
      await deadLetter();
      return () => ask('DELETE', `${BASE}/dead-letters`);
    },
  },
  'documents.purge': {
    audits: 'documents.purge',
    object: 'document',
    async make() {
      const [id] = await binned();
      return () => ask('DELETE', `/v1/${WORKSPACE}/trash/${id}`);
    },
  },
  'documents.empty-trash': {
    audits: 'documents.purge',
    object: 'document',
    async make() {
      await binned(3);
      return () => ask('DELETE', `/v1/${WORKSPACE}/empty/trash`);
    },
  },
};

const list = async (
  query = '',
  { path = `${BASE}/audit`, key }: { path?: string; key?: string } = {},
): Promise<Entry[]> => {
  const answer = await ask('GET', `${path}?${query}`, { key });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.items;
};
const everyRow = (): Promise<Entry[]> => sql<Entry[]>`
  SELECT id::text, action, workspace_id, before, after FROM audit_log ORDER BY created_at DESC, id DESC LIMIT 20`;

describe('each operation of the administration that changes something', () => {
  const operations = allRoutes().map(({ operation }) => operation);

  test('names its actions, and is tried here', () => {
    const changing = operations.filter(
      ({ method, path }) => method !== 'GET' && path.startsWith('/admin/api/'),
    );
    expect(changing.length).toBeGreaterThan(10);
    expect(changing.filter(({ audits }) => audits === undefined).map(({ id }) => id)).toEqual([]);
    const audited = operations.filter(({ audits }) => audits !== undefined).map(({ id }) => id);
    expect(Object.keys(CHANGES).sort()).toEqual(audited.sort());
    for (const [id, { audits }] of Object.entries(CHANGES))
      expect(operations.find((each) => each.id === id)?.audits).toContain(audits);
  });

  test('is one of a command, or the command itself says which actions it writes', () => {
    const routed = new Set(operations.map(({ id }) => id));
    const unsaid = COMMANDS.filter(({ operation, audits }) => !routed.has(operation) && audits === undefined);
    expect(unsaid.map(({ words }) => words)).toEqual([]);
  });

  test.each(Object.keys(CHANGES))('%s writes who, from where, by which request', async (operation) => {
    const { audits, object, make } = CHANGES[operation] as Change;
    const change = await make();
    const [{ id: last } = { id: '0' }] = await everyRow();
    expect((await change()).status).toBeLessThan(300);
    const added = (await everyRow()).filter(({ id }) => Number(id) > Number(last));
    expect(added.map(({ action }) => action)).toContain(audits);
    if (operation === 'access.create-workspace') return;
    const [entry] = await list(`action=${audits}`);
    expect(entry).toMatchObject({
      action: audits,
      actor: OWNER?.email,
      via: operation === 'access.close-session' ? 'session' : 'key',
      user_id: OWNER?.id,
      key_id: BOOTSTRAP?.id,
      address: '127.0.0.1',
      object: { kind: object },
    });
    expect(entry?.request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(entry?.before ?? entry?.after ?? (object === 'session' ? {} : undefined)).toBeDefined();
  });

  test.each(Object.keys(CHANGES))('%s changes nothing where its row cannot be written', async (operation) => {
    const change = await (CHANGES[operation] as Change).make();
    const before = await state();
    await sql`ALTER TABLE audit_log ADD CONSTRAINT refused CHECK (false) NOT VALID`;
    try {
      expect((await change()).status).toBe(500);
    } finally {
      await sql`ALTER TABLE audit_log DROP CONSTRAINT refused`;
    }
    expect(await state()).toEqual(before);
  });
});

/** All that the operations change. */
async function state(): Promise<Record<string, string[]>> {
  const tables = [
    'workspaces',
    'users',
    'keys',
    'portal_sessions',
    'chat_agents',
    'bots',
    'usage_dead_letters',
    'documents',
  ];
  const read = async (table: string): Promise<[string, string[]]> => {
    const rows = await sql<{ row: string }[]>`
      SELECT (to_jsonb(t) - 'last_used_at')::text AS row FROM ${sql.unsafe(table)} t`;
    return [table, rows.map(({ row }) => row).sort()];
  };
  return Object.fromEntries(await Promise.all(tables.map(read)));
}

test('a row has what was before and what is after', async () => {
  const { id } = await newUser();
  await ask('PATCH', `${BASE}/users/${id}`, {
    json: { name: 'Grace' },
    headers: { 'x-request-id': 'mine-1' },
  });
  const [entry] = await list(`object=user:${id}`);
  expect(entry?.request_id).toBe('mine-1');
  expect(entry?.before).toMatchObject({ name: 'Ada' });
  expect(entry?.after).toEqual({ ...entry?.before, name: 'Grace' });
});

test('deleting a person writes the revocation of each of their keys, and making a key that of its person', async () => {
  const email = `${newId()}@example.com`;
  const keys = [await newKey(email), await newKey(email)].map(({ id }) => id);
  const [created] = await list('action=access.create-user');
  expect(created?.after).toEqual({ email, name: null });
  await ask('DELETE', `${BASE}/users/${created?.object.id}`);
  const [deleted] = await list('action=access.delete-user');
  expect(deleted).toMatchObject({ object: created?.object, before: { email, name: null }, after: null });
  const revoked = await list('action=access.revoke-key&limit=2');
  expect(revoked.map(({ object }) => object.id).sort()).toEqual(keys.sort());
  for (const row of revoked)
    expect(row).toMatchObject({ request_id: deleted?.request_id, before: { user_email: email } });
});

test('dead letters that were sent again, but could not be deleted, have their row', async () => {
  await deadLetter();
  const [{ id: last } = { id: '0' }] = await everyRow();
  await sql`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$`;
  await sql`CREATE TRIGGER refused BEFORE DELETE ON usage_dead_letters EXECUTE FUNCTION refuse()`;
  try {
    expect((await ask('POST', `${BASE}/dead-letters/replay`)).status).toBe(500);
  } finally {
    await sql`DROP FUNCTION refuse CASCADE`;
  }
  const [row] = await everyRow();
  expect(row).toMatchObject({ action: 'metrics.replay-dead-letters', before: { count: expect.any(Number) } });
  expect(Number(row?.id)).toBeGreaterThan(Number(last));
});

test.each([0, 60])(
  'a rotation with %d seconds of grace has a row of each key, and each names the other',
  async (grace_seconds) => {
    const old = await newKey();
    const rotated = await made(`/keys/${old.id}/rotate`, { grace_seconds });
    const [ended] = await list(`object=key:${old.id}`);
    const [begun, ...others] = await list(`object=key:${rotated.id}`);
    expect(others).toEqual([]);
    expect(ended).toMatchObject({
      action: 'access.rotate-key',
      before: { name: 'k', expires_at: null },
      after: { name: 'k', replaced_by: rotated.id },
    });
    expect(begun).toMatchObject({
      ...{ action: 'access.rotate-key', request_id: ended?.request_id, before: null },
      after: { name: 'k', expires_at: null, replaces: old.id },
    });
    expect(begun?.after?.['prefix']).not.toBe(ended?.after?.['prefix']);
    const end = Date.parse(String(ended?.after?.['ends_at']));
    expect(end).toBe(grace_seconds === 0 ? end : Date.parse(String(ended?.after?.['expires_at'])));
    expect(end).toBeGreaterThanOrEqual(Date.parse(rotated.created_at) + grace_seconds * 1000);
  },
);

describe('beside the deletion of its person', () => {
  /** Both calls, each of which waits for a lock until the key is given free. */
  const race = async (change: (key: Body) => Promise<Answer>) => {
    const email = `${newId()}@example.com`;
    const key = await newKey(email);
    const [user] = await sql<{ id: string }[]>`SELECT id FROM users WHERE email = ${email}`;
    const waiting = (count: number) =>
      eventually('the calls to wait', async () => {
        const rows = await sql`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return rows.length === count;
      });
    const calls: Promise<Answer>[] = [];
    await sql.begin(async (tx) => {
      await tx`SELECT FROM keys WHERE id = ${key.id} FOR NO KEY UPDATE`;
      calls.push(change(key));
      await waiting(1);
      calls.push(ask('DELETE', `${BASE}/users/${user?.id}`));
      await waiting(2);
    });
    const answers = await Promise.all(calls);
    return { key, answers, statuses: answers.map(({ status }) => status) };
  };
  const revocations = (id: string | undefined) => list(`object=key:${id}&action=access.revoke-key`);

  test('a key that is revoked has one row of it', async () => {
    const { key, statuses } = await race(({ id }) => ask('DELETE', `${BASE}/keys/${id}`));
    expect(statuses).toEqual([204, 204]);
    expect(await revocations(key.id)).toHaveLength(1);
  });

  test('a key that is rotated is revoked with its successor, and each has its row', async () => {
    const { key, answers, statuses } = await race(({ id }) =>
      ask('POST', `${BASE}/keys/${id}/rotate`, { json: { grace_seconds: 60 } }),
    );
    expect(statuses).toEqual([201, 204]);
    for (const id of [key.id, answers[0]?.body.id]) expect(await revocations(id)).toHaveLength(1);
  });
});

test('making an agent the default writes whose place it takes', async () => {
  const [first, second] = [newId(), newId()];
  for (const id of [first, second])
    await ask('PUT', `${BASE}/agents/${id}`, { json: { ...AGENT, default: true } });
  const [, demoted] = await list('action=chat.put-agent');
  expect(demoted).toMatchObject({
    object: { id: first },
    before: { default: true },
    after: { default: false },
  });
});

test('emptying a bin writes a row for each document, and long texts are cut', async () => {
  await ask('DELETE', `/v1/${WORKSPACE}/empty/trash`);
  const ids = await binned(120);
  await ask('DELETE', `/v1/${WORKSPACE}/empty/trash`);
  const { body } = await ask('GET', `${BASE}/audit?action=documents.purge&limit=100`);
  const next = await list(`action=documents.purge&limit=100&cursor=${body.next_cursor}`);
  const rows = [...body.items, ...next].slice(0, 120);
  expect(new Set(rows.map(({ object }) => object.id))).toEqual(new Set(ids));
  expect(rows[0]?.before).toMatchObject({ name: 'a.txt', owner_id: OWNER?.id, status: 'private' });
  await ask('PUT', `${BASE}/agents/long`, { json: AGENT });
  const [put] = await list('object=agent:long');
  expect(JSON.stringify(put).length).toBeLessThan(5000);
  expect(put?.after?.['instructions']).toStartWith('Be brief. Be brief.');
});

test('no row has a key, a hash, a cookie or a private part of a key set', async () => {
  const path = `${BASE}/bots/${newId()}`;
  const hidden = `s3cret-${newId()}`;
  secrets.add(hidden);
  const json = {
    verification: {
      mode: 'project_number',
      audience: '1234',
      jwks: `https://keys.example.com/set?token=${hidden}`,
    },
  };
  expect((await ask('PUT', path, { json })).status).toBe(200);
  const [entry] = await list('object=bot');
  expect(entry?.after?.['verification']).toMatchObject({ jwks: 'keys.example.com/set' });
  expect((await ask('PUT', path, { json: bot(`s3cret-${newId()}`) })).status).toBe(200);

  const [row] = await sql<
    { all: string }[]
  >`SELECT string_agg(to_jsonb(a)::text, ' ') AS all FROM audit_log a`;
  expect(secrets.size).toBeGreaterThan(10);
  for (const secret of secrets) {
    expect(row?.all).not.toContain(secret);
    expect(row?.all).not.toContain(new Bun.CryptoHasher('sha256').update(secret).digest('hex'));
  }
});

describe('the list', () => {
  test('is paged from the newest, and filtered by action, actor, object and time', async () => {
    const { id } = await newUser();
    for (const name of ['b', 'c', 'd']) await ask('PATCH', `${BASE}/users/${id}`, { json: { name } });
    const object = `object=user:${id}`;
    const all = await list(object);
    expect(all.map(({ after }) => after?.['name'])).toEqual(['d', 'c', 'b', 'Ada']);
    const paged: Entry[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: Answer = await ask('GET', `${BASE}/audit?${object}&limit=1&cursor=${cursor}`);
      paged.push(...body.items);
      cursor = body.next_cursor;
    }
    expect(paged).toEqual(all);
    expect(await list(`${object}&action=access.create-user`)).toEqual(all.slice(3));
    expect(await list(`${object}&actor=${OWNER?.email.toUpperCase()}`)).toEqual(all);
    expect(await list(`${object}&actor=${BOOTSTRAP?.id}`)).toEqual(all);
    expect(await list(`${object}&actor=somebody@example.com`)).toEqual([]);
    const [newest, second] = all;
    const at = encodeURIComponent(newest?.created_at ?? '');
    expect((await list(`${object}&since=${at}`)).map((row) => row.id)).toContain(newest?.id ?? '');
    expect((await list(`${object}&until=${at}`)).map((row) => row.id)).not.toContain(newest?.id ?? '');
    expect((second?.created_at ?? '') <= (newest?.created_at ?? '')).toBe(true);
  });

  test.each([
    ['colour=red', 'extra_forbidden', 'colour'],
    ['since=yesterday', 'datetime_parsing', 'since'],
    ['until=2026-13-01', 'datetime_parsing', 'until'],
    ['since=0000-01-01', 'datetime_parsing', 'since'],
    ['since=0001-01-01T00:00:00%2B23:59', 'datetime_parsing', 'since'],
    ['until=9999-12-31T23:59:59-23:59', 'datetime_parsing', 'until'],
    ['since=2026-02-01&until=2026-01-01', 'value_error', 'until'],
    ['cursor=x', 'value_error', 'cursor'],
    ['limit=101', 'less_than_equal', 'limit'],
    ['action=everything', 'string_pattern_mismatch', 'action'],
    ['object=User', 'string_pattern_mismatch', 'object'],
    ['actor=', 'string_too_short', 'actor'],
  ])('%s is 422 %s', async (query, type, name) => {
    const { status, body } = await ask('GET', `${BASE}/audit?${query}`);
    expect(status).toBe(422);
    expect(body).toMatchObject({ detail: [{ type, loc: ['query', name] }] });
  });

  test('shows an administrator the rows of their own workspace alone, and an operator those of all', async () => {
    const other = `other-${newId().slice(0, 8)}`;
    expect((await ask('POST', '/admin/api/workspaces', { json: { id: other } })).status).toBe(201);
    const path = `/admin/api/workspaces/${other}`;
    const { body: admin } = await ask('POST', `${path}/keys`, { json: { name: 'a', scopes: ['admin'] } });
    const { body: reader } = await ask('POST', `${path}/keys`, { json: { name: 'a', scopes: ['models'] } });
    const rows = await list('', { path: `${path}/audit`, key: admin.key });
    expect(rows.map(({ action }) => action)).toEqual([
      'access.create-key',
      'access.create-key',
      'access.create-user',
      'access.create-workspace',
    ]);
    expect(await list('', { path: `${path}/audit` })).toEqual(rows);
    expect((await ask('GET', `${BASE}/audit`, { key: admin.key })).status).toBe(403);
    expect((await ask('GET', '/admin/api/audit', { key: admin.key })).status).toBe(403);
    expect((await ask('GET', `${path}/audit`, { key: reader.key })).status).toBe(403);
    expect((await ask('GET', '/admin/api/workspaces/none-such/audit')).status).toBe(404);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await ask(method, `${path}/audit`)).status).toBe(405);
  });
});

test('the command line prints the log, and is its author where it changes something', async () => {
  const admin = async (words: string): Promise<string> => {
    const child = Bun.spawn([process.execPath, ADMIN, ...words.split(' ')], {
      env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(await child.exited).toBe(0);
    return new Response(child.stdout).text();
  };
  await admin(`users create --workspace ${WORKSPACE} --email line-${newId()}@example.com`);
  const query = 'actor=command-line&limit=1';
  const [entry] = await list(query);
  expect(entry).toMatchObject({
    ...{ action: 'access.create-user', actor: 'command-line', via: 'command-line' },
    ...{ user_id: null, key_id: null, address: null },
  });
  const words = `audit show --workspace ${WORKSPACE} --actor command-line --limit 1`;
  expect(JSON.parse(await admin(`${words} --json`)).items).toEqual([entry]);
  expect(await admin(words)).toContain(entry?.object.id ?? '');
  await admin('search reindex');
  await admin('bucket adopt');
  const ofService = await list('', { path: '/admin/api/audit' });
  expect(ofService.map(({ action }) => action).slice(0, 2)).toEqual(['bucket.adopt', 'search.reindex']);
  expect(await admin('audit service')).toContain('search.reindex');
});

test('the first workspace and its key were made by the service itself', async () => {
  const rows = await list('actor=service&limit=100');
  expect(rows.map(({ action }) => action)).toEqual([
    'access.create-key',
    'access.create-user',
    'access.create-workspace',
  ]);
  expect(rows[0]).toMatchObject({ via: 'service', key_id: null, address: null, request_id: null });
});
