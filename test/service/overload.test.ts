// More requests than can be answered in time: what is exempt passes, others keep their share, the rest is refused and told when to
// come again, and everything is as before when the work is done. The work is slow because a table is locked.

import { expect, test } from 'bun:test';
import { send } from '../../bench/hostile/wire.ts';
import { createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { createLibrary } from '../acceptance/support/library.ts';
import { createPeople } from '../acceptance/support/people.ts';
import { eventually } from '../support/child.ts';
import { connectTo, testDatabase } from '../support/database.ts';
import { startGateway } from '../support/gateway.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';

/** Places of the class `heavy` that one workspace may have, and clients that want them. */
const OF_WORKSPACE = 56;
const CLIENTS = 75;

/** The sum of a metric's series whose labels contain the text. */
async function metric(url: string, name: string, labels = ''): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const rows = text.split('\n').filter((row) => row.startsWith(`${name}{`) && row.includes(labels));
  return rows.reduce((sum, row) => sum + Number(row.split(' ').at(-1)), 0);
}

test('with all its permits taken, a workspace waits and is refused; probes, sign-in, revocation and other workspaces pass', async () => {
  await using database = await testDatabase();
  await using service = await startService({ environment: { DATABASE_URL: database.url } });
  const call = createCaller(service.url);
  const people = createPeople(call, { workspace: WORKSPACE, adminKey: BOOTSTRAP_KEY });
  const noisy = await people.newKey({ scopes: ['documents:read', 'admin'] });
  // Of an empty library the counts say all that a search asks.
  await createLibrary(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY }).stored({ name: 'a.txt' });
  const revoked = await people.newKey();
  const quietId = 'quiet';
  const made = await call('POST', '/admin/api/workspaces', { key: BOOTSTRAP_KEY, json: { id: quietId } });
  expectStatus(made, 201);
  const quiet = await createPeople(call, { workspace: quietId, adminKey: BOOTSTRAP_KEY }).newKey({
    scopes: ['admin'],
  });
  const descriptor = (key: string) => call('GET', `/v1/${WORKSPACE}/presigned/url`, { key });
  /** As heavy as a search, but without the table that is locked. */
  const audit = (workspace: string, key: string) =>
    call('GET', `/admin/api/workspaces/${workspace}/audit`, { key });
  expectStatus(await descriptor(revoked.key), 201);
  expectStatus(await audit(WORKSPACE, noisy.key), 200);

  const sql = connectTo(database.url);
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const lock = sql.begin(async (tx) => {
    await tx`LOCK TABLE documents IN ACCESS EXCLUSIVE MODE`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  let isOver = false;
  const refusals: string[] = [];
  const search = async (): Promise<void> => {
    while (!isOver) {
      const { text } = await send(new URL(service.url), {
        method: 'GET',
        target: `/v1/filter/${WORKSPACE}`,
        headers: [`APIKeyHeader: ${noisy.key}`, 'connection: close'],
      });
      if (text.includes('overloaded')) refusals.push(text);
    }
  };
  const searching = Promise.all(Array.from({ length: CLIENTS }, search));
  try {
    // As many as may run do, and of the others those that wait for too long are refused.
    await eventually('the class to be full', async () => {
      const refused = await metric(service.url, 'atrium_admission_refused_total', 'work="heavy"');
      const running = await metric(service.url, 'atrium_admission_running', 'work="heavy"');
      return refused > 0 && running === OF_WORKSPACE;
    });
    expectStatus(await call('GET', '/healthz'), 200);
    const path = `/admin/api/workspaces/${WORKSPACE}/keys/${revoked.id}`;
    expectStatus(await call('DELETE', path, { key: BOOTSTRAP_KEY }), 204);
    expectStatus(await descriptor(revoked.key), 401);
    expectStatus(await call('POST', '/admin/api/session', { json: { key: BOOTSTRAP_KEY } }), 204);
    expectStatus(await audit(quietId, quiet.key), 200);
    expectStatus(await descriptor(BOOTSTRAP_KEY), 201);
  } finally {
    isOver = true;
    release.resolve();
    // A busy machine may have been in here for longer than the database lets a transaction be idle.
    await lock.catch(() => undefined);
    await sql.end();
    await searching;
  }
  expect(refusals.length).toBeGreaterThan(0);
  for (const text of refusals) {
    expect(text).toStartWith('HTTP/1.1 503 ');
    expect(text.toLowerCase()).toContain('retry-after: 2\r\n');
  }
  expectStatus(await audit(WORKSPACE, noisy.key), 200);
  await eventually('all permits to be returned', async () => {
    const held = await metric(service.url, 'atrium_admission_running');
    return held + (await metric(service.url, 'atrium_admission_waiting')) === 0;
  });
  expect(service.child.output()).toContain('overload: requests are refused');
});

test('a stream has its permit until it ends, or its reader leaves', async () => {
  await using gateway = await startGateway((mock) => ({
    upstreams: { mock: { base_url: `${mock}/v1`, retries: 0 } },
    models: {
      trickle: { targets: [{ upstream: 'mock', model: 'trickle+ms=50+words=300' }] },
      ok: { targets: [{ upstream: 'mock', model: 'ok' }] },
    },
  }));
  const running = () => metric(gateway.url, 'atrium_admission_running', 'work="model"');
  const ask = (model: string, signal?: AbortSignal) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Good morning' }] }),
      ...(signal === undefined ? {} : { signal }),
    });
  const leaving = new AbortController();
  const response = await ask('trickle', leaving.signal);
  await response.body?.getReader().read();
  expect(await running()).toBe(1);
  leaving.abort();
  await eventually('the permit to be returned', async () => (await running()) === 0);
  const whole = await ask('ok');
  expect(await whole.text()).toContain('[DONE]');
  await eventually('the other permit, too', async () => (await running()) === 0);
});
