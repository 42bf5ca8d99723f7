import { expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { OPERATOR_KEY, startAdministration, WORKSPACE } from './administration.ts';

const WORKSPACES = '/admin/api/workspaces';
const key = OPERATOR_KEY;
const administration = await shared(startAdministration());

test('an operator creates a workspace, named as asked or by its id', async () => {
  const { ask } = administration;
  const named = await ask('POST', WORKSPACES, { key, body: { id: 'w-1', name: 'First' } });
  expect(named.status).toBe(201);
  expect(Object.keys(named.body)).toEqual(['id', 'name', 'created_at']);
  expect(named.body).toMatchObject({ id: 'w-1', name: 'First' });
  const unnamed = await ask('POST', WORKSPACES, { key, body: { id: 'w-2' } });
  expect(unnamed.body.name).toBe('w-2');
});

test('a taken name is 409', async () => {
  const taken = await administration.ask('POST', WORKSPACES, { key, body: { id: WORKSPACE } });
  expect(taken.status).toBe(409);
  expect(taken.body.detail).toBe('A workspace of this name exists');
});

test('of several creations of one name at once, one succeeds', async () => {
  const answers = await Promise.all(
    Array.from({ length: 5 }, () =>
      administration.ask('POST', WORKSPACES, { key, body: { id: 'contested' } }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
});

const RESERVED =
  'filter metadata chat models completions images embeddings admin api v1 docs temp chatapp compute healthz readyz ' +
  'metrics file upload uploads trash restore me mcp responses messages audio rerank moderations';

test.each(RESERVED.split(' '))('the name %s is reserved', async (id) => {
  const refused = await administration.ask('POST', WORKSPACES, { key, body: { id } });
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toMatchObject([{ loc: ['body', 'id'], type: 'value_error', input: id }]);
});

test.each(['a', '-a', 'A1', 'a_b', 'a.b', 'a/b', `a${'b'.repeat(63)}`, 'ab\n', ''])(
  'the name %j is no name',
  async (id) => {
    const refused = await administration.ask('POST', WORKSPACES, { key, body: { id } });
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toMatchObject([{ loc: ['body', 'id'], type: 'string_pattern_mismatch' }]);
  },
);

test('an operator lists all workspaces, page by page; an administrator sees their own', async () => {
  const { ask, makeKey } = administration;
  const names: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await ask('GET', `${WORKSPACES}?limit=2&cursor=${cursor}`, { key });
    names.push(...page.body.items.map(({ id }) => id));
    cursor = page.body.next_cursor;
  }
  expect(names).toContain(WORKSPACE);
  expect(names).toContain('w-1');
  expect(new Set(names).size).toBe(names.length);
  const admin = await makeKey(['admin']);
  const own = await ask('GET', WORKSPACES, { key: admin.key });
  expect(own.body.items.map(({ id }) => id)).toEqual([WORKSPACE]);
  expect(own.body.next_cursor).toBeNull();
});
