// The audit log as it is read: by page, filter and workspace, over HTTP and on the command line.

import { describe, expect, test } from 'bun:test';
import { newId } from '../../src/core/ids.ts';
import { runAdmin } from '../support/admin.ts';
import { WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { type Answer, BASE, type Entry, startAudited } from './audited.ts';

const { url, ownerEmail, bootstrapId, ask, list, newUser } = await shared(startAudited());

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
    expect(await list(`${object}&actor=${ownerEmail.toUpperCase()}`)).toEqual(all);
    expect(await list(`${object}&actor=${bootstrapId}`)).toEqual(all);
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
    const { code, out } = await runAdmin(url, words.split(' '));
    expect(code).toBe(0);
    return out;
  };
  await admin(`users create --workspace ${WORKSPACE} --email line-${newId()}@example.com`);
  const query = 'actor=command-line&limit=1';
  const [entry] = await list(query);
  expect(entry).toMatchObject({
    action: 'access.create-user',
    actor: 'command-line',
    via: 'command-line',
    user_id: null,
    key_id: null,
    address: null,
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
