import { expect, test } from 'bun:test';
import { PRINCIPAL_TTL_MS } from '../../src/access/limits.ts';
import { eventually } from '../support/child.ts';
import { shared } from '../support/shared.ts';
import { cacheKey, hashOf, OPERATOR_KEY, startAdministration, WORKSPACE } from './administration.ts';

const KEYS = `/admin/api/workspaces/${WORKSPACE}/keys`;
const USERS = `/admin/api/workspaces/${WORKSPACE}/users`;
const AT_ONCE_MS = 15_000;
const key = OPERATOR_KEY;
const administration = await shared(startAdministration());
const other = await administration.start();

const cachedAt = new Map<string, number>();

function cacheInOther(text: string): Promise<void> {
  cachedAt.set(text, performance.now());
  return cacheKey(other, text);
}

const isRefusedByOther = async (text: string): Promise<boolean> =>
  (await other.access.authenticators.key(text)) === undefined;

/** Waits until the other process knows of a change of the key, which must be before its cache forgets the key by itself. */
async function expectAtOnce(what: string, text: string, known: () => Promise<boolean>): Promise<void> {
  await eventually(what, known, AT_ONCE_MS);
  expect(performance.now() - (cachedAt.get(text) ?? 0)).toBeLessThan(PRINCIPAL_TTL_MS);
}

const expectRefusal = (text: string): Promise<void> =>
  expectAtOnce('the other process to refuse the key', text, () => isRefusedByOther(text));

test('a key that one process revokes is refused by the others at once', async () => {
  const made = await administration.makeKey(['chat']);
  await cacheInOther(made.key);
  await administration.ask('DELETE', `${KEYS}/${made.id}`, { key });
  await expectRefusal(made.key);
});

test('so is a rotated one, and every key of a deleted person', async () => {
  const rotated = await administration.makeKey(['chat']);
  const owned = await administration.makeKey(['chat'], { user_email: 'leaver@example.com' });
  await cacheInOther(rotated.key);
  await cacheInOther(owned.key);
  await administration.ask('POST', `${KEYS}/${rotated.id}/rotate`, { key });
  const userId = (await other.access.authenticators.key(owned.key))?.userId;
  await administration.ask('DELETE', `${USERS}/${userId}`, { key });
  await expectRefusal(rotated.key);
  await expectRefusal(owned.key);
});

const BY_HAND: [string, (id: string) => Promise<unknown>][] = [
  ['revoked', (id) => administration.sql`UPDATE keys SET revoked_at = now() WHERE id = ${id}`],
  ['disabled', (id) => administration.sql`UPDATE keys SET disabled = true WHERE id = ${id}`],
  ['expired', (id) => administration.sql`UPDATE keys SET expires_at = now() WHERE id = ${id}`],
  ['deleted', (id) => administration.sql`DELETE FROM keys WHERE id = ${id}`],
  [
    'orphaned',
    (id) => administration.sql`DELETE FROM users WHERE id = (SELECT user_id FROM keys WHERE id = ${id})`,
  ],
];

test.each(BY_HAND)('a key that is %s by hand, in SQL, is refused at once', async (what, change) => {
  const made = await administration.makeKey(['chat'], { user_email: `${what}@example.com` });
  await cacheInOther(made.key);
  await change(made.id);
  await expectRefusal(made.key);
});

test('scopes, limits, owner and e-mail that are changed by hand hold at once', async () => {
  const { sql } = administration;
  const made = await administration.makeKey(['chat'], { user_email: 'before@example.com' });
  await cacheInOther(made.key);
  const see = async (what: string, seen: (principal: object) => boolean): Promise<void> => {
    const look = async () => seen((await other.access.authenticators.key(made.key)) ?? {});
    await expectAtOnce(what, made.key, look);
    await cacheInOther(made.key);
  };
  await sql`UPDATE keys SET scopes = '{models,nonsense}' WHERE id = ${made.id}`;
  await see('the scopes', (principal) =>
    Bun.deepEquals(principal, { ...principal, scopes: new Set(['models']) }),
  );
  await sql`UPDATE keys SET limits = '{"requests_per_minute": 1}' WHERE id = ${made.id}`;
  await see('the limits', (principal) =>
    Bun.deepEquals(principal, { ...principal, limits: { requests_per_minute: 1 } }),
  );
  await sql`UPDATE users SET email = 'after@example.com' WHERE email = 'before@example.com'`;
  await see('the e-mail', (principal) =>
    Bun.deepEquals(principal, { ...principal, email: 'after@example.com' }),
  );
});

test('being used drops nothing from the caches', async () => {
  const made = await administration.makeKey(['chat']);
  await cacheInOther(made.key);
  const before = other.notices.length;
  await administration.sql`UPDATE keys SET last_used_at = now() WHERE id = ${made.id}`;
  // Notices arrive in the order of commits: this one would come after that.
  const marker = await administration.makeKey(['chat']);
  await cacheInOther(marker.key);
  expect(other.notices.slice(before)).toEqual([hashOf(marker.key)]);
});

test('a look-up that was under way when its key was revoked does not bring the key back', async () => {
  const made = await administration.makeKey(['chat']);
  const countNotices = () => other.notices.filter((hash) => hash === hashOf(made.key)).length;
  await eventually('the notice of the key', () => countNotices() === 1);
  const held = other.lookups.holdNext();
  const early = other.access.authenticators.key(made.key);
  await held.read;
  await administration.ask('DELETE', `${KEYS}/${made.id}`, { key });
  await eventually('the notice of the revocation', () => countNotices() === 2);
  expect(await isRefusedByOther(made.key)).toBe(true);
  held.release();
  // Asked before the revocation: either answer is right. What counts is that it is not kept.
  await early;
  expect(await isRefusedByOther(made.key)).toBe(true);
});

test('a key that did not exist a moment ago is accepted as soon as it does', async () => {
  const text = 'a-key-that-is-made-by-hand-0123456789';
  expect(await isRefusedByOther(text)).toBe(true);
  await administration.sql`
    INSERT INTO keys (id, workspace_id, user_id, name, prefix, hash, scopes)
    SELECT gen_random_uuid(), workspace_id, id, 'by hand', 'a-key', sha256(${text}::bytea), '{chat}'
    FROM users WHERE workspace_id = ${WORKSPACE} LIMIT 1`;
  await eventually('the key to be accepted', async () => !(await isRefusedByOther(text)), AT_ONCE_MS);
});

test('while the listening connection is lost, nothing is served from the cache; afterwards nothing stale', async () => {
  const [kept, revoked, later] = [
    await administration.makeKey(['chat']),
    await administration.makeKey(['chat']),
    await administration.makeKey(['chat']),
  ];
  for (const made of [kept, revoked, later]) await cacheInOther(made.key);
  await other.cutListener();
  await eventually('the loss to be seen', () => !other.invalidation.connected(), AT_ONCE_MS);
  await administration.sql`UPDATE keys SET revoked_at = now() WHERE id = ${revoked.id}`;
  expect(await isRefusedByOther(revoked.key)).toBe(true);
  expect(await isRefusedByOther(kept.key)).toBe(false);
  other.restoreListener();
  await eventually('notices to arrive again', () => other.invalidation.connected(), AT_ONCE_MS);
  expect(await isRefusedByOther(revoked.key)).toBe(true);
  await cacheInOther(later.key);
  await administration.sql`UPDATE keys SET revoked_at = now() WHERE id = ${later.id}`;
  await expectRefusal(later.key);
});

test('a text whose checksum is wrong is refused without a look-up, and so is one too short to be a key', async () => {
  const made = await administration.makeKey(['chat']);
  const count = other.lookups.count();
  const misspelt = made.key.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  for (const text of [
    misspelt,
    'atr_',
    `${made.key}0`,
    made.key.slice(0, -1),
    'too-short',
    'x'.repeat(513),
    '',
  ])
    expect(other.access.authenticators.key(text)).toBeUndefined();
  expect(other.lookups.count()).toBe(count);
});

test('asking for an unknown key again and again costs one look-up', async () => {
  const text = 'nobody-has-this-key-0123456789-abcdef';
  await other.access.authenticators.key(text);
  const count = other.lookups.count();
  for (let index = 0; index < 50; index++) await other.access.authenticators.key(text);
  expect(other.lookups.count()).toBe(count);
});
