// Bots as an administrator keeps them.

import { describe, expect, test } from 'bun:test';
import { exportJWK } from 'jose';
import { shared } from '../../support/shared.ts';
import { createSigner, PROJECT } from '../support/bots.ts';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import * as entry from '../support/entries.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting());

type Bot = { id: string; created_at: string; updated_at: string } & Record<string, unknown>;
type Page = { items: Bot[]; next_cursor: string | null };

const base = (workspace = setting.workspace) => `/admin/api/workspaces/${workspace}/bots`;
const send = (method: string, path: string, json?: unknown, key = setting.adminKey) =>
  setting.call(method, path, { key, ...(json === undefined ? {} : { json }) });
const put = (id: string, json: unknown) => send('PUT', `${base()}/${id}`, json);
const entriesOf = async (json: unknown, id = 'refused') =>
  bodyOf<{ detail: entry.Entry[] }>(await put(id, json), 422).detail;
const project = { mode: 'project_number', audience: PROJECT };

describe('a bot', () => {
  test('is made, read, replaced, listed and removed', async () => {
    const { jwk } = await createSigner();
    const registration = {
      verification: { ...project, jwks: { keys: [jwk] } },
      agent_id: 'support',
      welcome_text: 'Hello.',
      commands: [
        { id: 1, name: '/help', reply: 'Ask me.' },
        { id: 2, name: '/ask', agent_id: 'expert' },
      ],
    };
    const made = bodyOf<Bot>(await put('helper', registration), 200);
    expect(made).toEqual({
      ...registration,
      id: 'helper',
      commands: [
        { id: 1, name: '/help', reply: 'Ask me.', agent_id: null },
        { id: 2, name: '/ask', reply: null, agent_id: 'expert' },
      ],
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(bodyOf<Bot>(await send('GET', `${base()}/helper`), 200)).toEqual(made);
    const replaced = bodyOf<Bot>(await put('helper', { verification: { mode: 'key' } }), 200);
    expect(replaced).toEqual({
      id: 'helper',
      verification: { mode: 'key', audience: null, jwks: null },
      agent_id: null,
      welcome_text: null,
      commands: [],
      created_at: made.created_at,
      updated_at: expect.any(String),
    });
    // What is read can be put as it is.
    expectStatus(await put('helper', replaced), 200);
    const { items } = bodyOf<Page>(await send('GET', base()), 200);
    expect(items.map(({ id }) => id)).toContain('helper');
    expectStatus(await send('DELETE', `${base()}/helper`), 204);
    expectRefusal(await send('DELETE', `${base()}/helper`), 404);
    expectRefusal(await send('GET', `${base()}/helper`), 404);
  });

  test('is listed in pages, newest first', async () => {
    const ids = ['page-1', 'page-2', 'page-3', 'page-4', 'page-5'];
    for (const id of ids) expectStatus(await put(id, { verification: { mode: 'key' } }), 200);
    const found: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Page = bodyOf(await send('GET', `${base()}?limit=2&cursor=${cursor}`), 200);
      found.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(found.filter((id) => id.startsWith('page-'))).toEqual(ids.toReversed());
  });

  test('belongs to its workspace', async () => {
    const { workspace } = await setting.elsewhere();
    expectStatus(await put('shared', { verification: { mode: 'key' } }), 200);
    expectRefusal(await send('GET', `${base(workspace)}/shared`), 404);
    const { key: admin } = await setting.people.newKey({ scopes: ['admin'] });
    expectStatus(await send('GET', `${base()}/shared`, undefined, admin), 200);
    expectRefusal(await send('GET', `${base(workspace)}/shared`, undefined, admin), 403);
    expectRefusal(await send('PUT', `${base(workspace)}/x`, { verification: { mode: 'key' } }, admin), 403);
    const { key: user } = await setting.people.newKey({ scopes: ['bots', 'chat'] });
    for (const method of ['GET', 'PUT', 'DELETE'])
      expectRefusal(await send(method, `${base()}/shared`, method === 'PUT' ? {} : undefined, user), 403);
    expectRefusal(await setting.call('GET', base()), 401);
    expectRefusal(await send('GET', base('nowhere')), 404);
    expectRefusal(await send('PUT', `${base('nowhere')}/x`, { verification: { mode: 'key' } }), 404);
  });
});

describe('a registration', () => {
  test('names a mode, and the audience that the mode needs', async () => {
    const at = (...rest: string[]) => ['body', 'verification', ...rest];
    expect(await entriesOf({})).toEqual([entry.missing(['body', 'verification'], {})]);
    expect(await entriesOf({ verification: {} })).toEqual([entry.missing(at('mode'), {})]);
    expect(await entriesOf({ verification: { mode: 'trust' } })).toEqual([
      entry.notEnum(at('mode'), 'trust', "'project_number', 'endpoint_url' or 'key'"),
    ]);
    for (const mode of ['project_number', 'endpoint_url']) {
      expect(await entriesOf({ verification: { mode } })).toEqual([entry.missing(at('audience'), { mode })]);
      expect(await entriesOf({ verification: { mode, audience: '' } })).toEqual([
        entry.tooShort(at('audience'), '', 1),
      ]);
    }
    const [noUrl] = await entriesOf({ verification: { mode: 'endpoint_url', audience: 'here' } });
    expect(noUrl).toMatchObject({ type: 'value_error', loc: at('audience'), input: 'here' });
  });

  test('names its keys by https, or by http on this machine, or gives them', async () => {
    const ec = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'a' };
    const refused: unknown[] = [
      '',
      'x',
      'http://keys.example/',
      'http://127.0.0.1.example/',
      'ftp://127.0.0.1/',
      'file:///etc/passwd',
      'https://user:secret@keys.example/',
      'javascript:1',
      `https://keys.example/${'x'.repeat(2_048)}`,
      17,
      [],
      {},
      { keys: 1 },
      { keys: [] },
      { keys: [ec] },
      { keys: [{ kty: 'RSA', kid: 'a', n: '', e: '' }] },
      { keys: [null] },
    ];
    for (const jwks of refused) {
      const entries = await entriesOf({ verification: { ...project, jwks } });
      expect(entries).toMatchObject([{ type: 'value_error', loc: ['body', 'verification', 'jwks'] }]);
    }
    for (const jwks of [
      'https://keys.example/',
      'http://localhost:1/',
      'http://[::1]:1/x',
      'http://127.1.2.3/',
    ])
      expectStatus(await put('keys', { verification: { ...project, jwks } }), 200);
  });

  test('by an administrator names no address that is not public', async () => {
    const { key } = await setting.people.newKey({ scopes: ['admin'] });
    const putAs = (jwks: string, id = 'administered') =>
      send('PUT', `${base()}/${id}`, { verification: { ...project, jwks } }, key);
    const refused = [
      'https://127.0.0.1/',
      'http://127.0.0.1:1/',
      'http://localhost:1/',
      'https://localhost/',
      'https://10.1.2.3/',
      'https://192.168.0.1:8443/x',
      'https://172.16.0.1/',
      'https://2130706433/',
      'https://169.254.169.254/latest',
      'https://100.64.0.1/',
      'https://0.0.0.0/',
      'https://224.0.0.1/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://[fd00::1]/',
      'https://[fe80::1]/',
      'https://[64:ff9b::a00:1]/',
      'https://[::]/',
      'https://any.localhost/',
      'https://LOCALHOST./',
    ];
    for (const jwks of refused) {
      const { detail } = bodyOf<{ detail: entry.Entry[] }>(await putAs(jwks), 422);
      expect(detail).toMatchObject([
        { type: 'value_error', loc: ['body', 'verification', 'jwks'], input: jwks },
      ]);
      expect(detail[0]?.msg).toContain('only an operator');
      expectStatus(await put('operated', { verification: { ...project, jwks } }), 200);
    }
    for (const jwks of ['https://8.8.8.8/keys', 'https://[2606:4700::1111]/', 'https://keys.example/'])
      expectStatus(await putAs(jwks), 200);
  });

  test('by an administrator may keep the address that an operator has named, and name no other', async () => {
    const { key } = await setting.people.newKey({ scopes: ['admin'] });
    const registration = { verification: { ...project, jwks: 'http://127.0.0.1:1/keys' } };
    const made = bodyOf<Bot>(await put('kept', registration), 200);
    const kept = await send('PUT', `${base()}/kept`, { ...made, welcome_text: 'Hello.' }, key);
    expect(bodyOf<Bot>(kept, 200)).toMatchObject({ ...registration, welcome_text: 'Hello.' });
    expectStatus(await send('PUT', `${base()}/kept`, { ...made, welcome_text: null }, key), 200);
    for (const jwks of ['http://127.0.0.1:2/keys', 'http://127.0.0.1:1/keys?'])
      expectStatus(await send('PUT', `${base()}/kept`, { verification: { ...project, jwks } }, key), 422);
    expectStatus(await send('PUT', `${base()}/other`, registration, key), 422);
    // Once it has been given up, it is an operator's again.
    expectStatus(await send('PUT', `${base()}/kept`, { verification: project }, key), 200);
    expectStatus(await send('PUT', `${base()}/kept`, registration, key), 422);
  });

  test('with a private key is refused, and the key is not repeated', async () => {
    const { privateKey, kid } = await createSigner();
    const jwk = { ...(await exportJWK(privateKey)), kid };
    const answer = await put('refused', { verification: { ...project, jwks: { keys: [jwk] } } });
    expectStatus(answer, 422);
    expect(answer.text).toContain('public keys');
    expect(answer.text).not.toContain(jwk.d ?? '?');
  });

  test('has commands with an id each, and either a reply or an agent', async () => {
    const commands = [
      { id: 1, name: 'a', reply: 'x' },
      { id: 1, name: 'b', agent_id: 'y' },
      { id: 2, name: 'c' },
      { id: 3, name: 'd', reply: 'x', agent_id: 'y' },
    ];
    expect(await entriesOf({ verification: { mode: 'key' }, commands })).toMatchObject([
      { type: 'value_error', loc: ['body', 'commands', 1, 'id'], input: 1 },
      { type: 'value_error', loc: ['body', 'commands', 2] },
      { type: 'value_error', loc: ['body', 'commands', 3] },
    ]);
    const wrong = [{ id: 0, name: '' }, { name: 1 }, { id: 'x', name: 'x', reply: '' }];
    const at = (...rest: (string | number)[]) => ['body', 'commands', ...rest];
    expect(await entriesOf({ verification: { mode: 'key' }, commands: wrong })).toEqual([
      entry.tooSmall(at(0, 'id'), 0, 1),
      entry.tooShort(at(0, 'name'), '', 1),
      entry.missing(at(1, 'id'), { name: 1 }),
      entry.notType('string', at(1, 'name'), 1),
      entry.notInteger(at(2, 'id'), 'x'),
      entry.tooShort(at(2, 'reply'), '', 1),
    ]);
  });

  test('has an id that can stand in a URL', async () => {
    for (const id of ['-x', '.x', 'a%20b', 'a%2Fb', 'ü', 'x'.repeat(129)]) {
      const [refused] = await entriesOf({ verification: { mode: 'key' } }, id);
      expect(refused).toMatchObject({ type: 'string_pattern_mismatch', loc: ['path', 'bot_id'] });
    }
    for (const id of ['a', 'A.b_c-d', '1', 'x'.repeat(128)])
      expectStatus(await put(id, { verification: { mode: 'key' } }), 200);
  });
});
