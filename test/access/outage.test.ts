import { afterAll, beforeAll, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import {
  type Administration,
  cacheKey,
  hashOf,
  type Instance,
  OPERATOR_KEY,
  startAdministration,
  startInstance,
  WORKSPACE,
} from './administration.ts';
import { type Relay, startRelay } from './relay.ts';

const KEYS = `/admin/api/workspaces/${WORKSPACE}/keys`;
let administration: Administration;
let relay: Relay;
let cutOff: Instance;

beforeAll(async () => {
  administration = await startAdministration();
  relay = await startRelay(administration.database.url);
  cutOff = await startInstance({ url: relay.url });
});
afterAll(async () => {
  await cutOff.stop();
  relay.close();
  await administration.stop();
});

async function reconnect(): Promise<void> {
  relay.restore();
  cutOff.restoreListener();
  await eventually('notices to arrive', () => cutOff.invalidation.connected());
}

test('usage events are taken with known keys for as long as the database is away, at once', async () => {
  await reconnect();
  const known = await administration.makeKey(['metrics']);
  await cacheKey(cutOff, known.key);
  relay.cut();
  await eventually('the loss to be seen', () => !cutOff.invalidation.connected());
  const { key: authenticate } = cutOff.access.authenticators;
  await authenticate(known.key);
  // A check beside the requests finds out when it is back; they do not wait for it.
  for (let round = 0; round < 30; round++) {
    expect(authenticate(known.key, true)).toMatchObject({ keyId: known.id });
    await Bun.sleep(100);
  }
});

test('without the database known keys are accepted, and others are told 503 and not 401', async () => {
  await reconnect();
  const known = await administration.makeKey(['admin']);
  const expired = await administration.makeKey(['admin'], {
    expires_at: new Date(cutOff.clock.now().getTime() + 60_000).toISOString(),
  });
  const unknown = await administration.makeKey(['admin']);
  for (const { key } of [known, expired]) await cacheKey(cutOff, key);
  relay.cut();
  await eventually('the loss to be seen', () => !cutOff.invalidation.connected());
  cutOff.clock.advance(60_001);

  expect(await cutOff.access.authenticators.key(known.key)).toMatchObject({ keyId: known.id });
  // Only the first one waits to learn that there is no answer.
  expect(cutOff.access.authenticators.key(known.key)).toMatchObject({ keyId: known.id });
  expect(cutOff.access.authenticators.key(expired.key)).toBeUndefined();
  const refused = await cutOff.ask('GET', KEYS, { key: unknown.key });
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('2');
  expect(refused.body.detail).toBe('API keys cannot be checked at the moment');
  expect(JSON.stringify(cutOff.lines)).not.toContain(known.key);
});

test('when the database is back, so are its answers: what was revoked meanwhile is refused', async () => {
  await reconnect();
  const known = await administration.makeKey(['admin']);
  const revoked = await administration.makeKey(['admin']);
  for (const { key } of [known, revoked]) await cacheKey(cutOff, key);
  relay.cut();
  await eventually('the loss to be seen', () => !cutOff.invalidation.connected());
  await administration.sql`UPDATE keys SET revoked_at = now() WHERE id = ${revoked.id}`;
  relay.restore();
  await eventually('the revoked key to be refused', async () => {
    const found = await Promise.resolve(cutOff.access.authenticators.key(revoked.key)).catch(
      () => 'no answer',
    );
    return found === undefined;
  });
  expect(await cutOff.access.authenticators.key(known.key)).toMatchObject({ keyId: known.id });
});

/** Without its listening connection, and without a new one; look-ups go on over the connections that there are. */
async function loseNotices(): Promise<void> {
  // The writing of last uses would take a connection from a look-up.
  await cutOff.lifecycle.settle();
  relay.refuseNew();
  await cutOff.cutListener();
  await eventually('the loss to be seen', () => !cutOff.invalidation.connected());
}

/** Without the database, as usage events see it: known keys will do. */
async function loseDatabase(): Promise<void> {
  relay.cut();
  await eventually('the loss to be seen', () => !cutOff.invalidation.connected());
  await Promise.resolve(cutOff.access.authenticators.key(OPERATOR_KEY)).catch(() => undefined);
}

const tolerated = (key: string): Promise<unknown> =>
  Promise.resolve(cutOff.access.authenticators.key(key, true)).catch((error: unknown) => error);

test('a key that was revoked while notices were lost does not live again in an outage that comes later', async () => {
  await reconnect();
  const revoked = await administration.makeKey(['metrics']);
  await cacheKey(cutOff, revoked.key);
  await loseNotices();
  await administration.sql`UPDATE keys SET revoked_at = now() WHERE id = ${revoked.id}`;
  await reconnect();
  await loseDatabase();
  expect(await tolerated(revoked.key)).toMatchObject({ kind: 'unavailable' });
});

test('an answer from the time without notices replaces what was known before, in an outage that follows', async () => {
  await reconnect();
  const changed = await administration.makeKey(['metrics', 'admin']);
  const revoked = await administration.makeKey(['metrics']);
  for (const { key } of [changed, revoked]) await cacheKey(cutOff, key);
  await loseNotices();
  await administration.sql`UPDATE keys SET scopes = '{metrics}' WHERE id = ${changed.id}`;
  await administration.sql`UPDATE keys SET revoked_at = now() WHERE id = ${revoked.id}`;
  for (const { key } of [changed, revoked]) await cutOff.access.authenticators.key(key);
  await loseDatabase();
  expect(await tolerated(changed.key)).toMatchObject({ scopes: new Set(['metrics']) });
  expect(await tolerated(revoked.key)).toMatchObject({ kind: 'unavailable' });
});

test('an answer that was asked for before notices were lost is not kept, neither for then nor for later', async () => {
  await reconnect();
  const revoked = await administration.makeKey(['metrics']);
  await eventually('the notice of the key', () => cutOff.notices.includes(hashOf(revoked.key)));
  const held = cutOff.lookups.holdNext();
  const early = cutOff.access.authenticators.key(revoked.key);
  await held.read;
  await loseNotices();
  await administration.sql`UPDATE keys SET revoked_at = now() WHERE id = ${revoked.id}`;
  held.release();
  await early;
  await loseDatabase();
  expect(await tolerated(revoked.key)).toMatchObject({ kind: 'unavailable' });
});
