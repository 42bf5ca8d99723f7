// Who may do what: every operation × every caller, held against two tables of expected statuses.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { type Answer, type CallOptions, expectStatus } from './support/caller.ts';
import { freshName, type Library } from './support/library.ts';
import { DOCUMENT_SCOPES, freshEmail, type Person } from './support/people.ts';
import { type Setting, startSetting } from './support/setting.ts';
import { parseStatusTable } from './support/status-table.ts';

let setting: Setting;
const keys = new Map<string, string | undefined>();
let owner: Person;
let curator: Person;

beforeAll(async () => {
  setting = await startSetting();
  const { people, call, adminKey } = setting;
  const elsewhere = await setting.elsewhere();
  [owner, curator] = [await people.person(), await people.person()];
  const ownersKey = async (scopes: string[]) => (await people.newKey({ scopes, email: owner.email })).key;

  const revoked = await people.newKey({ email: owner.email });
  expectStatus(await people.revoke(revoked.id), 204);
  const disabled = await people.newKey({ email: owner.email });
  const path = `/admin/api/workspaces/${setting.workspace}/keys/${disabled.id}`;
  expectStatus(await call('PATCH', path, { key: adminKey, json: { disabled: true } }), 200);
  const soon = new Date(Date.now() + 5000).toISOString();
  const expired = await people.newKey({ email: owner.email, expiresAt: soon });
  const callers: Record<string, string | undefined> = {
    none: undefined,
    empty: '',
    unknown: `atr_${'0'.repeat(39)}`,
    revoked: revoked.key,
    disabled: disabled.key,
    expired: expired.key,
    foreign: (await elsewhere.people.newKey()).key,
    'foreign-op': (await elsewhere.people.newKey({ scopes: [...DOCUMENT_SCOPES, 'admin', 'operator'] })).key,
    unscoped: await ownersKey(['models', 'chat', 'bots', 'metrics']),
    reader: await ownersKey(['documents:read']),
    writer: await ownersKey(['documents:write']),
    other: (await people.newKey()).key,
    curator: curator.key,
    owner: owner.key,
    admin: (await people.newKey({ scopes: [...DOCUMENT_SCOPES, 'admin'] })).key,
    operator: adminKey,
    'foreign-admin': (await elsewhere.people.newKey({ scopes: [...DOCUMENT_SCOPES, 'admin'] })).key,
  };
  for (const [name, key] of Object.entries(callers)) keys.set(name, key);
  await eventually(
    'the key to expire',
    async () => (await call('GET', '/admin/api/status', { key: expired.key })).status === 401,
  );
});
afterAll(() => setting.service[Symbol.asyncDispose]());

type DocumentState = 'public' | 'private' | 'binned';

/** A new document of the owner, who has named the curator. */
async function documentIn(state: DocumentState): Promise<{ id: string; name: string }> {
  const status = state === 'private' ? 'private' : 'public';
  const document = await owner.library.stored({ status, access: { curators: [curator.email] } });
  if (state === 'binned') expectStatus(await owner.library.bin(document.id), 204);
  return document;
}

type Attempt = (library: Library, document: { id: string; name: string }) => Promise<Answer>;
const OPERATIONS: Record<string, Attempt> = {
  presign: ({ presign }) => presign(),
  confirm: async ({ confirm }) =>
    confirm({
      temp_key: await owner.library.uploaded(),
      document_metadata: { name: freshName(), status: 'public' },
    }),
  trash: ({ trash }) => trash(),
  'trash?all': ({ trash }) => trash({ all: true }),
  'empty-trash': ({ emptyTrash }) => emptyTrash(),
  archived: ({ archiveList }) => archiveList(),
  folders: ({ folders }) => folders(),
  detail: ({ detail }, { id }) => detail(id),
  'detail-by-name': ({ detail }, { name }) => detail(name),
  download: ({ downloadUrl }, { id }) => downloadUrl(id),
  content: ({ content }, { id }) => content(id),
  passages: ({ passages }, { id }) => passages(id),
  history: ({ history }, { id }) => history(id),
  contents: ({ contents }, { id }) => contents({ document_id: id }),
  export: ({ exportPassages }) => exportPassages(),
  // Nothing is read here: those who see the document learn that it has no text.
  excerpt: ({ excerpt }, { id }) => excerpt(id),
  'put-content': ({ putContent }, { id }) => putContent(id, { reading: 'off' }),
  retrieve: ({ retrieve }) => retrieve({ query: 'text' }),
  patch: ({ patch }, { id }) => patch(id, { summary: 'patched' }),
  'patch-access': ({ patch }, { id }) => patch(id, { access: { curators: [curator.email] } }),
  archive: ({ archive }, { name }) => archive(name),
  unarchive: ({ unarchive }, { name }) => unarchive(name),
  bin: ({ bin }, { id }) => bin(id),
  restore: ({ restore }, { id }) => restore(id),
  purge: ({ purge }, { id }) => purge(id),
};

// Callers from `foreign` on hold a valid key. `foreign` and `foreign-op` belong to another workspace; `unscoped`,
// `reader` and `writer` are the owner's keys with too few scopes; `other` is somebody else of the workspace.
const DOCUMENTS = `
  operation      document   none empty unknown revoked disabled expired foreign foreign-op unscoped reader writer other curator owner admin
  presign        public     422  401   401     401     401      401     403     403        403      403    201    201   201     201   201
  confirm        public     422  401   401     401     401      401     403     403        403      403    201    201   201     201   201
  trash          public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  trash?all      public     422  401   401     401     401      401     403     403        403      403    403    403   403     403   200
  empty-trash    public     422  401   401     401     401      401     403     403        403      403    204    204   204     204   204
  archived       public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  folders        public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  contents       public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  export         public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200

  detail         public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  detail-by-name public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  download       public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  content        public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  passages       public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  history        public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  retrieve       public     422  401   401     401     401      401     403     403        403      200    403    200   200     200   200
  excerpt        public     422  401   401     401     401      401     403     403        403      409    403    409   409     409   409
  patch          public     422  401   401     401     401      401     403     403        403      403    200    403   200     200   200
  put-content    public     422  401   401     401     401      401     403     403        403      403    200    403   200     200   200
  patch-access   public     422  401   401     401     401      401     403     403        403      403    200    403   403     200   200
  archive        public     422  401   401     401     401      401     403     403        403      403    200    403   200     200   200
  unarchive      public     422  401   401     401     401      401     403     403        403      403    200    403   200     200   200
  bin            public     422  401   401     401     401      401     403     403        403      403    204    403   403     204   204
  restore        public     422  401   401     401     401      401     403     403        403      403    404    404   404     404   404
  purge          public     422  401   401     401     401      401     403     403        403      403    404    404   404     404   404

  detail         private    422  401   401     401     401      401     403     403        403      200    403    404   200     200   200
  detail-by-name private    422  401   401     401     401      401     403     403        403      200    403    404   200     200   200
  download       private    422  401   401     401     401      401     403     403        403      200    403    404   200     200   200
  content        private    422  401   401     401     401      401     403     403        403      200    403    404   200     200   200
  passages       private    422  401   401     401     401      401     403     403        403      200    403    404   200     200   200
  history        private    422  401   401     401     401      401     403     403        403      200    403    404   200     200   200
  excerpt        private    422  401   401     401     401      401     403     403        403      409    403    404   409     409   409
  patch          private    422  401   401     401     401      401     403     403        403      403    200    404   200     200   200
  put-content    private    422  401   401     401     401      401     403     403        403      403    200    404   200     200   200
  patch-access   private    422  401   401     401     401      401     403     403        403      403    200    404   403     200   200
  archive        private    422  401   401     401     401      401     403     403        403      403    200    404   200     200   200
  unarchive      private    422  401   401     401     401      401     403     403        403      403    200    404   200     200   200
  bin            private    422  401   401     401     401      401     403     403        403      403    204    404   403     204   204
  restore        private    422  401   401     401     401      401     403     403        403      403    404    404   404     404   404
  purge          private    422  401   401     401     401      401     403     403        403      403    404    404   404     404   404

  detail         binned     422  401   401     401     401      401     403     403        403      200    403    404   404     200   200
  detail-by-name binned     422  401   401     401     401      401     403     403        403      200    403    404   404     200   200
  download       binned     422  401   401     401     401      401     403     403        403      200    403    404   404     200   200
  content        binned     422  401   401     401     401      401     403     403        403      200    403    404   404     200   200
  passages       binned     422  401   401     401     401      401     403     403        403      200    403    404   404     200   200
  history        binned     422  401   401     401     401      401     403     403        403      200    403    404   404     200   200
  excerpt        binned     422  401   401     401     401      401     403     403        403      409    403    404   404     409   409
  patch          binned     422  401   401     401     401      401     403     403        403      403    409    404   404     409   409
  put-content    binned     422  401   401     401     401      401     403     403        403      403    409    404   404     409   409
  patch-access   binned     422  401   401     401     401      401     403     403        403      403    409    404   404     409   409
  archive        binned     422  401   401     401     401      401     403     403        403      403    409    404   404     409   409
  unarchive      binned     422  401   401     401     401      401     403     403        403      403    409    404   404     409   409
  bin            binned     422  401   401     401     401      401     403     403        403      403    404    404   404     404   404
  restore        binned     422  401   401     401     401      401     403     403        403      403    200    404   404     200   200
  purge          binned     422  401   401     401     401      401     403     403        403      403    204    404   404     204   204
`;

describe('a document', () => {
  test.each(parseStatusTable(DOCUMENTS, ['operation', 'document']))('%s', async (_title, row) => {
    const attempt = OPERATIONS[row.labels['operation'] ?? ''];
    if (attempt === undefined) throw new Error(`no operation ${row.labels['operation']}`);
    const found: Record<string, number> = {};
    for (const caller of Object.keys(row.statuses)) {
      const document = await documentIn(row.labels['document'] as DocumentState);
      const answer = await attempt(setting.libraryOf(keys.get(caller)), document);
      expectChallenge(answer);
      found[caller] = answer.status;
    }
    expect(found).toEqual(row.statuses);
  });
});

type Administer = (
  call: (method: string, path: string, json?: unknown) => Promise<Answer>,
) => Promise<Answer>;
const base = () => `/admin/api/workspaces/${setting.workspace}`;
const newUser = async (): Promise<string> => {
  const json = { email: freshEmail() };
  const answer = await setting.call('POST', `${base()}/users`, { key: setting.adminKey, json });
  return (JSON.parse(answer.text) as { id: string }).id;
};
const newKeyId = async (): Promise<string> => (await setting.people.newKey()).id;
const newOperator = async (): Promise<{ keyId: string; userId: string }> => {
  const { call, people, adminKey } = setting;
  const { id, user_email } = await people.newKey({ scopes: ['operator'] });
  const { text } = await call('GET', `${base()}/users?limit=1`, { key: adminKey });
  const [user] = (JSON.parse(text) as { items: { id: string; email: string }[] }).items;
  if (user?.email !== user_email) throw new Error('the newest user is not the one that was made');
  return { keyId: id, userId: user.id };
};
const ADMINISTRATION: Record<string, Administer> = {
  status: (call) => call('GET', '/admin/api/status'),
  'list-workspaces': (call) => call('GET', '/admin/api/workspaces'),
  'create-workspace': (call) => call('POST', '/admin/api/workspaces', { id: `w-${crypto.randomUUID()}` }),
  'list-users': (call) => call('GET', `${base()}/users`),
  'create-user': (call) => call('POST', `${base()}/users`, { email: freshEmail() }),
  'change-user': async (call) => call('PATCH', `${base()}/users/${await newUser()}`, { name: 'Renamed' }),
  'delete-user': async (call) => call('DELETE', `${base()}/users/${await newUser()}`),
  'list-keys': (call) => call('GET', `${base()}/keys`),
  'create-key': (call) => call('POST', `${base()}/keys`, { name: 'new', scopes: ['documents:read'] }),
  'create-operator': (call) => call('POST', `${base()}/keys`, { name: 'new', scopes: ['operator'] }),
  'change-key': async (call) => call('PATCH', `${base()}/keys/${await newKeyId()}`, { disabled: true }),
  'rotate-key': async (call) => call('POST', `${base()}/keys/${await newKeyId()}/rotate`),
  'revoke-key': async (call) => call('DELETE', `${base()}/keys/${await newKeyId()}`),
  'change-operator-key': async (call) =>
    call('PATCH', `${base()}/keys/${(await newOperator()).keyId}`, { disabled: true }),
  'rotate-operator-key': async (call) => call('POST', `${base()}/keys/${(await newOperator()).keyId}/rotate`),
  'revoke-operator-key': async (call) => call('DELETE', `${base()}/keys/${(await newOperator()).keyId}`),
  'change-operator': async (call) =>
    call('PATCH', `${base()}/users/${(await newOperator()).userId}`, { email: freshEmail() }),
  'delete-operator': async (call) => call('DELETE', `${base()}/users/${(await newOperator()).userId}`),
};

// `admin` administers its own workspace except what is an operator's, `operator` all of them; `owner` has scopes for documents alone.
const ADMIN_API = `
  operation           none empty unknown revoked disabled expired foreign unscoped owner foreign-admin foreign-op admin operator
  status              401  401   401     401     401      401     403     403      403   200           200        200   200
  list-workspaces     401  401   401     401     401      401     403     403      403   200           200        200   200
  create-workspace    401  401   401     401     401      401     403     403      403   403           201        403   201
  list-users          401  401   401     401     401      401     403     403      403   403           200        200   200
  create-user         401  401   401     401     401      401     403     403      403   403           201        201   201
  change-user         401  401   401     401     401      401     403     403      403   403           200        200   200
  delete-user         401  401   401     401     401      401     403     403      403   403           204        204   204
  list-keys           401  401   401     401     401      401     403     403      403   403           200        200   200
  create-key          401  401   401     401     401      401     403     403      403   403           201        201   201
  create-operator     401  401   401     401     401      401     403     403      403   403           201        403   201
  change-key          401  401   401     401     401      401     403     403      403   403           200        200   200
  rotate-key          401  401   401     401     401      401     403     403      403   403           201        201   201
  revoke-key          401  401   401     401     401      401     403     403      403   403           204        204   204
  change-operator-key 401  401   401     401     401      401     403     403      403   403           200        403   200
  rotate-operator-key 401  401   401     401     401      401     403     403      403   403           201        403   201
  revoke-operator-key 401  401   401     401     401      401     403     403      403   403           204        403   204
  change-operator     401  401   401     401     401      401     403     403      403   403           200        403   200
  delete-operator     401  401   401     401     401      401     403     403      403   403           204        403   204
`;

describe('the administration', () => {
  test.each(parseStatusTable(ADMIN_API, ['operation']))('%s', async (_title, row) => {
    const administer = ADMINISTRATION[row.labels['operation'] ?? ''];
    if (administer === undefined) throw new Error(`no operation ${row.labels['operation']}`);
    const found: Record<string, unknown> = {};
    const credentials = (key: string | undefined): CallOptions[] =>
      key === undefined || key === ''
        ? [{ key }]
        : [{ key }, { headers: { authorization: `Bearer ${key}` } }];
    for (const caller of Object.keys(row.statuses)) {
      const seen = new Set<number>();
      for (const credential of credentials(keys.get(caller))) {
        const answer = await administer((method, path, json) =>
          setting.call(method, path, { ...credential, ...(json === undefined ? {} : { json }) }),
        );
        expectChallenge(answer);
        seen.add(answer.status);
      }
      found[caller] = seen.size === 1 ? [...seen][0] : [...seen];
    }
    expect(found).toEqual(row.statuses);
  });
});

/** 401 says how to authenticate (RFC 9110, 11.6.1). */
function expectChallenge(answer: Answer): void {
  if (answer.status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^\w+ /);
}

describe('a key', () => {
  test('with the scope operator alone may administer, and nothing else', async () => {
    const { key, library } = await setting.people.person({ scopes: ['operator'] });
    expectStatus(await setting.call('GET', '/admin/api/workspaces', { key }), 200);
    expectStatus(await library.presign(), 403);
  });

  test('is shown when it is made, and never again: in no list, answer or log line', async () => {
    const { call, adminKey, service } = setting;
    const texts: string[] = [];
    const record = async (method: string, path: string, options: CallOptions = {}) => {
      const answer = await call(method, path, { key: adminKey, ...options });
      texts.push(answer.text, JSON.stringify([...answer.headers]));
    };
    for (const list of ['keys', 'users']) await record('GET', `${base()}/${list}?limit=100`);
    await record('GET', '/admin/api/status');
    await record('GET', '/metrics');
    for (const [caller, key] of keys) {
      if (key === undefined || key === '') continue;
      await record('GET', `/v1/${setting.workspace}/presigned/url?expires_in=x`, { key });
      await record('POST', `/v1/${setting.workspace}/upload/confirm`, { key, json: { caller } });
      await record('GET', '/admin/api/workspaces', {
        headers: { authorization: `Bearer ${key}`, cookie: `atrium_session=${key}` },
      });
      await record('POST', '/admin/api/session', { json: { key: `${key}x` } });
    }
    const marker = crypto.randomUUID();
    await record('GET', '/healthz', { headers: { 'x-request-id': marker } });
    const log = await eventually(
      'the log to be written',
      () => service.child.output().includes(marker) && service.child.output(),
    );
    for (const [caller, key] of keys) {
      if (key === undefined || key === '' || caller === 'unknown') continue;
      expect([caller, texts.some((text) => text.includes(key))]).toEqual([caller, false]);
      expect([caller, log.includes(key)]).toEqual([caller, false]);
    }
  });
});
