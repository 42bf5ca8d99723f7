import { expect, test } from 'bun:test';
import { createValidator } from '../../src/http/validation.ts';
import { shared } from '../support/shared.ts';
import { startAdministration } from './administration.ts';

const administration = await shared(startAdministration());

test('every operation of the administration is there, once', () => {
  const operations = administration.operations();
  expect(operations.map(({ method, path }) => `${method} ${path.replace('/admin/api', '')}`).sort()).toEqual([
    'DELETE /session',
    'DELETE /workspaces/{workspace_id}/keys/{key_id}',
    'DELETE /workspaces/{workspace_id}/sessions/{session_id}',
    'DELETE /workspaces/{workspace_id}/users/{user_id}',
    'GET /admin/sign-on',
    'GET /admin/sign-on/callback',
    'GET /admin/sign-on/end',
    'GET /audit',
    'GET /session',
    'GET /workspaces',
    'GET /workspaces/{workspace_id}/audit',
    'GET /workspaces/{workspace_id}/keys',
    'GET /workspaces/{workspace_id}/sessions',
    'GET /workspaces/{workspace_id}/users',
    'PATCH /workspaces/{workspace_id}/keys/{key_id}',
    'PATCH /workspaces/{workspace_id}/users/{user_id}',
    'POST /session',
    'POST /session/link',
    'POST /workspaces',
    'POST /workspaces/{workspace_id}/keys',
    'POST /workspaces/{workspace_id}/keys/{key_id}/rotate',
    'POST /workspaces/{workspace_id}/users',
  ]);
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
});

test('examples are of the schema that they illustrate', () => {
  for (const { body, responses } of administration.operations()) {
    for (const { schema, example } of Object.values(body?.contents ?? {}))
      expect(createValidator(schema)(example, []).entries).toEqual([]);
    for (const { schema, example } of Object.values(responses)) {
      if (schema === undefined || example === undefined) continue;
      expect(createValidator(schema)(example, []).entries).toEqual([]);
    }
  }
});
