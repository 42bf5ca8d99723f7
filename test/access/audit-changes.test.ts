// Each administrative change and each purge has its row in the audit log, in the transaction of the change, without secrets.

import { describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { COMMANDS } from '../../src/admin/commands.ts';
import { newId } from '../../src/core/ids.ts';
import { encodeRow } from '../../src/usage/row.ts';
import { createDeadLetterStore } from '../../src/usage/store/dead-letters.ts';
import { eventually } from '../support/child.ts';
import { allOperations } from '../support/generated-pages.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { type Answer, BASE, type Body, type Entry, startAudited } from './audited.ts';

const audited = await shared(startAudited());
const operations = await allOperations();
const { sql, ownerId, ownerEmail, bootstrapId, secrets, ask, list, made, newUser, newKey } = audited;

async function binned(count = 1): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status, status_before_bin, deleted_at)
    SELECT gen_random_uuid(), ${WORKSPACE}, gen_random_uuid(), ${ownerId}, 'a.txt',
      ${WORKSPACE} || '/' || gen_random_uuid() || '.txt', 'deleted', 'private', now()
    FROM generate_series(1, ${count}) RETURNING id`;
  return rows.map(({ id }) => id);
}

async function deadLetter(): Promise<string> {
  const row = encodeRow({
    id: newId(),
    eventId: newId(),
    workspaceId: WORKSPACE,
    type: 'a.b',
    source: 'test',
    subject: '',
    timeMicroseconds: 1_000_000n,
    data: '{"value":1}',
    extensions: null,
    value: '1',
  });
  await createDeadLetterStore(sql).add({ workspaceId: WORKSPACE, reason: 'refused', row });
  return '';
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

/** An operation that is audited: `before` makes the object that it needs, `audits` is its action where it has another name. */
type Change = {
  audits?: string;
  object: string;
  before?: () => Promise<string>;
  change: (id: string) => Promise<{ status: number }>;
};

const user = async () => (await newUser()).id;
const key = async () => (await newKey()).id;
const put = (path: string, json: object) => ask('PUT', `${BASE}${path}`, { json });
const putNew = (kind: 'agents' | 'bots', json: object) => async () => {
  const path = `/${kind}/${newId()}`;
  await put(path, json);
  return path;
};

const CHANGES: Record<string, Change> = {
  'access.create-workspace': {
    object: 'workspace',
    change: () => ask('POST', '/admin/api/workspaces', { json: { id: `w${newId().slice(0, 13)}` } }),
  },
  'access.create-user': {
    object: 'user',
    change: () => ask('POST', `${BASE}/users`, { json: { email: `${newId()}@example.com` } }),
  },
  'access.update-user': {
    object: 'user',
    before: user,
    change: (id) => ask('PATCH', `${BASE}/users/${id}`, { json: { name: 'Grace' } }),
  },
  'access.delete-user': {
    object: 'user',
    before: user,
    change: (id) => ask('DELETE', `${BASE}/users/${id}`),
  },
  'access.create-key': {
    object: 'key',
    change: () => ask('POST', `${BASE}/keys`, { json: { name: 'n', scopes: ['chat'] } }),
  },
  'access.update-key': {
    object: 'key',
    before: key,
    change: (id) => ask('PATCH', `${BASE}/keys/${id}`, { json: { disabled: true } }),
  },
  'access.rotate-key': {
    object: 'key',
    before: key,
    change: (id) => ask('POST', `${BASE}/keys/${id}/rotate`, { json: { grace_seconds: 60 } }),
  },
  'access.revoke-key': { object: 'key', before: key, change: (id) => ask('DELETE', `${BASE}/keys/${id}`) },
  'access.open-session': { object: 'session', change: () => signIn() },
  'access.close-session': {
    object: 'session',
    before: async () => (await signIn()).cookie,
    change: (cookie) => ask('DELETE', '/admin/api/session', { key: '', headers: { cookie } }),
  },
  'access.open-session-by-link': {
    audits: 'access.open-session',
    object: 'session',
    async before() {
      const link = newId();
      const hash = new Bun.CryptoHasher('sha256').update(link).digest('hex');
      await sql`
        INSERT INTO portal_links (hash, key_id, expires_at)
        VALUES (decode(${hash}, 'hex'), ${bootstrapId ?? ''}, now() + interval '1 hour')`;
      return link;
    },
    change: (link) => ask('POST', '/admin/api/session/link', { key: '', json: { link } }),
  },
  'access.revoke-session': {
    audits: 'access.close-session',
    object: 'session',
    async before() {
      await signIn();
      const [newest] = await sql`SELECT id FROM portal_sessions ORDER BY created_at DESC, id DESC LIMIT 1`;
      return String(newest?.['id']);
    },
    change: (id) => ask('DELETE', `${BASE}/sessions/${id}`),
  },
  'chat.put-agent': { object: 'agent', change: () => put(`/agents/${newId()}`, AGENT) },
  'chat.delete-agent': {
    object: 'agent',
    before: putNew('agents', AGENT),
    change: (path) => ask('DELETE', `${BASE}${path}`),
  },
  'bots.put': { object: 'bot', change: () => put(`/bots/${newId()}`, bot(`s3cret-${newId()}`)) },
  'bots.delete': {
    object: 'bot',
    before: putNew('bots', bot(`s3cret-${newId()}`)),
    change: (path) => ask('DELETE', `${BASE}${path}`),
  },
  'metrics.replay-dead-letters': {
    object: 'dead-letters',
    before: deadLetter,
    change: () => ask('POST', `${BASE}/dead-letters/replay`),
  },
  'metrics.purge-dead-letters': {
    object: 'dead-letters',
    before: deadLetter,
    change: () => ask('DELETE', `${BASE}/dead-letters`),
  },
  'documents.put-content-settings': {
    object: 'content-settings',
    change: () => put('/content', { reading: 'off' }),
  },
  'documents.purge': {
    object: 'document',
    before: async () => (await binned())[0] ?? '',
    change: (id) => ask('DELETE', `/v1/${WORKSPACE}/trash/${id}`),
  },
  'documents.empty-trash': {
    audits: 'documents.purge',
    object: 'document',
    before: async () => String(await binned(3)),
    change: () => ask('DELETE', `/v1/${WORKSPACE}/empty/trash`),
  },
};

const everyRow = (): Promise<Entry[]> => sql<Entry[]>`
  SELECT id::text, action, workspace_id, before, after FROM audit_log ORDER BY created_at DESC, id DESC LIMIT 20`;

describe('each operation of the administration that changes something', () => {
  test('names its actions, and is tried here', () => {
    const changing = operations.filter(
      ({ method, path }) => method !== 'GET' && path.startsWith('/admin/api/'),
    );
    expect(changing.length).toBeGreaterThan(10);
    expect(changing.filter(({ audits }) => audits === undefined).map(({ id }) => id)).toEqual([]);
    const audited = operations.filter(({ audits = [] }) => audits.length > 0).map(({ id }) => id);
    // A sign-in at a provider is tried in sign-on.test.ts, which has one.
    expect([...Object.keys(CHANGES), 'access.finish-sign-on'].sort()).toEqual(audited.sort());
    for (const [id, { audits = id }] of Object.entries(CHANGES))
      expect(operations.find((each) => each.id === id)?.audits).toContain(audits);
  });

  test('is one of a command, or the command itself says which actions it writes', () => {
    const routed = new Set(operations.map(({ id }) => id));
    const unsaid = COMMANDS.filter(({ operation, audits }) => !routed.has(operation) && audits === undefined);
    expect(unsaid.map(({ words }) => words)).toEqual([]);
  });

  test.each(Object.keys(CHANGES))('%s writes who, from where, by which request', async (operation) => {
    const { audits = operation, object, before, change } = CHANGES[operation] as Change;
    const id = (await before?.()) ?? '';
    const [{ id: last } = { id: '0' }] = await everyRow();
    expect((await change(id)).status).toBeLessThan(300);
    const added = (await everyRow()).filter(({ id }) => Number(id) > Number(last));
    expect(added.map(({ action }) => action)).toContain(audits);
    if (operation === 'access.create-workspace') return;
    const [entry] = await list(`action=${audits}`);
    expect(entry).toMatchObject({
      action: audits,
      actor: ownerEmail,
      via: operation === 'access.close-session' ? 'session' : 'key',
      user_id: ownerId,
      key_id: bootstrapId,
      address: '127.0.0.1',
      object: { kind: object },
    });
    expect(entry?.request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(entry?.before ?? entry?.after ?? (object === 'session' ? {} : undefined)).toBeDefined();
  });

  test.each(Object.keys(CHANGES))('%s changes nothing where its row cannot be written', async (operation) => {
    const { before: make, change } = CHANGES[operation] as Change;
    const id = (await make?.()) ?? '';
    const before = await state();
    await sql`ALTER TABLE audit_log ADD CONSTRAINT refused CHECK (false) NOT VALID`;
    try {
      expect((await change(id)).status).toBe(500);
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
    'portal_links',
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
      action: 'access.rotate-key',
      request_id: ended?.request_id,
      before: null,
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
  expect(rows[0]?.before).toMatchObject({ name: 'a.txt', owner_id: ownerId, status: 'private' });
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
