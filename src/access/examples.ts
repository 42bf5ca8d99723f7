// What /docs shows.

export const WORKSPACE_EXAMPLE = { id: 'acme', name: 'Acme Ltd', created_at: '2026-11-20T23:38:56.123Z' };

export const USER_EXAMPLE = {
  id: '019a9f3e-7c1b-7d52-9a44-2f60c1d3b7aa',
  email: 'ada@example.com',
  name: 'Ada',
  created_at: '2026-11-20T23:38:56.123Z',
};

export const KEY_EXAMPLE = {
  id: '019a9f3e-8d00-7c31-8e02-51b7c9d0e4f2',
  name: 'Import of manuals',
  prefix: 'atr_5YgT2k',
  scopes: ['documents:read', 'documents:write'],
  user_email: 'ada@example.com',
  limits: { requests_per_minute: 600 },
  disabled: false,
  created_at: '2026-11-20T23:38:56.123Z',
  expires_at: '2027-11-20T00:00:00.000Z',
  last_used_at: null,
};

export const KEY_CREATED_EXAMPLE = { ...KEY_EXAMPLE, key: 'atr_5YgT2k…' };

export const KEY_CREATE_EXAMPLE = {
  name: KEY_EXAMPLE.name,
  scopes: KEY_EXAMPLE.scopes,
  user_email: KEY_EXAMPLE.user_email,
  expires_at: KEY_EXAMPLE.expires_at,
  limits: KEY_EXAMPLE.limits,
};

export const SESSION_EXAMPLE = {
  workspace_id: WORKSPACE_EXAMPLE.id,
  user_id: USER_EXAMPLE.id,
  user_email: USER_EXAMPLE.email,
  key_id: KEY_EXAMPLE.id,
  scopes: KEY_EXAMPLE.scopes,
  sign_on_workspaces: null,
};

export const AUDIT_EXAMPLE = {
  id: '4711',
  created_at: '2026-11-20T23:38:56.123Z',
  action: 'access.update-user',
  actor: 'grace@example.com',
  via: 'key',
  user_id: '019a9f3e-7c1b-7d52-9a44-2f60c1d3b7bb',
  key_id: KEY_EXAMPLE.id,
  address: '192.0.2.7',
  request_id: '019a9f3e-9a00-7d11-8f3c-0a1b2c3d4e5f',
  object: { kind: 'user', id: USER_EXAMPLE.id },
  before: { email: 'ada@example.com', name: null },
  after: { email: 'ada@example.com', name: 'Ada' },
};

export const PORTAL_SESSION_EXAMPLE = {
  id: '019a9f3e-9a44-7b21-a3c4-0c7b1f5e2d61',
  user_email: USER_EXAMPLE.email,
  key_name: KEY_EXAMPLE.name,
  provider: 'key',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  current: true,
  created_at: '2026-11-20T23:38:56.123Z',
  expires_at: '2026-11-21T11:38:56.123Z',
};
