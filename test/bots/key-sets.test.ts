// Key sets over the hours: how long one is used, what an outage of its URL does, what an unknown key costs.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import type { JWK } from 'jose';
import { importKeySet } from '../../src/bots/key-set.ts';
import { createKeySets, type KeySets } from '../../src/bots/key-sets.ts';
import { createVerify } from '../../src/bots/verify.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silentLog } from '../support/database.ts';
import { createSigner, type Signer } from './signer.ts';

const HOUR_MS = 3_600_000;

let first: Signer;
let second: Signer;
let server: ReturnType<typeof Bun.serve>;
let url: string;
let published: readonly JWK[] = [];
let down = false;
let asked = 0;

beforeAll(async () => {
  first = await createSigner('first');
  second = await createSigner('second');
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      asked++;
      return down ? new Response(null, { status: 500 }) : Response.json({ keys: published });
    },
  });
});
afterAll(() => server.stop(true));

let nowMs: number;
let keySets: KeySets;
beforeEach(() => {
  url = `http://127.0.0.1:${server.port}/${crypto.randomUUID()}`;
  published = [first.jwk];
  down = false;
  asked = 0;
  nowMs = 1_000_000;
  keySets = createKeySets({ log: silentLog, now: () => nowMs });
});

const find = async (kid: string): Promise<boolean> =>
  (await keySets.find({ url, anywhere: true }, kid)) !== undefined;

describe('a key set at a URL', () => {
  test('is fetched once by however many ask at the same time, and then at hand without waiting', async () => {
    const found = await Promise.all(Array.from({ length: 50 }, () => find('first')));
    expect(found.every(Boolean)).toBe(true);
    expect(asked).toBe(1);
    expect(keySets.find({ url, anywhere: true }, 'first')).toBeInstanceOf(CryptoKey);
  });

  test('is fetched again after an hour: a key that was withdrawn is good no longer', async () => {
    await find('first');
    published = [second.jwk];
    nowMs += HOUR_MS - 1;
    expect(await find('first')).toBe(true);
    nowMs += 1;
    expect(await find('first')).toBe(false);
    expect(await find('second')).toBe(true);
    expect(asked).toBe(2);
  });

  test('goes on while its URL is down, asked for twice a minute, and for a day', async () => {
    await find('first');
    down = true;
    nowMs += HOUR_MS;
    for (let second = 0; second < 60; second++) {
      expect(await find('first')).toBe(true);
      nowMs += 1_000;
    }
    expect(asked).toBe(3);
    nowMs += 24 * HOUR_MS;
    await expect(find('first')).rejects.toMatchObject({ kind: 'unavailable' });
    down = false;
    nowMs += 30_000;
    expect(await find('first')).toBe(true);
  });

  test('that is not at hand is unavailable, and asked for once a second', async () => {
    down = true;
    for (let round = 0; round < 10; round++)
      await expect(find('first')).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 2 });
    expect(asked).toBe(1);
    nowMs += 1_000;
    down = false;
    expect(await find('first')).toBe(true);
  });

  test('is fetched before its time for an unknown key, at most every ten seconds', async () => {
    await find('first');
    published = [first.jwk, second.jwk];
    expect(await Promise.all([find('second'), find('second'), find('second')])).toEqual([true, true, true]);
    expect(asked).toBe(2);
    for (let round = 0; round < 100; round++) expect(await find(`unknown ${round}`)).toBe(false);
    expect(asked).toBe(2);
    nowMs += 10_000;
    down = true;
    expect(await find('unknown')).toBe(false);
    expect(await find('first')).toBe(true);
    expect(asked).toBe(3);
  });
});

test('only so many key sets are remembered: the one that was fetched first goes', async () => {
  const few = createKeySets({ log: silentLog, now: () => nowMs, keySetsMax: 2 });
  const ask = async (name: string): Promise<number> => {
    await few.find({ url: `${url}/${name}`, anywhere: true }, 'first');
    return asked;
  };
  expect([await ask('a'), await ask('b'), await ask('a'), await ask('b')]).toEqual([1, 2, 2, 2]);
  expect([await ask('c'), await ask('b'), await ask('c')]).toEqual([3, 3, 3]);
  expect([await ask('a'), await ask('c'), await ask('b')]).toEqual([4, 4, 5]);
});

test('a URL that may lead to public addresses alone is not asked elsewhere, nor answered for by one that may', async () => {
  await find('first');
  const stranger = () => keySets.find({ url, anywhere: false }, 'first');
  for (let round = 0; round < 5; round++)
    await expect(stranger()).rejects.toMatchObject({ kind: 'unavailable' });
  expect(asked).toBe(1);
  expect(await find('first')).toBe(true);
});

test("a bot's token has its keys fetched from where the registration may lead, and from nowhere else", async () => {
  const verify = createVerify({
    keySets: createKeySets({ log: silentLog }),
    clock: systemClock,
    log: silentLog,
  });
  const seconds = Math.floor(Date.now() / 1000);
  const token = await first.token({ iss: 'chat@system.gserviceaccount.com', aud: '17', exp: seconds + 60 });
  const verification = { mode: 'project_number', audience: '17', jwks: url } as const;
  await expect(verify({ ...verification, jwks_anywhere: false }, token)).rejects.toMatchObject({
    kind: 'unavailable',
  });
  expect(asked).toBe(0);
  await verify({ ...verification, jwks_anywhere: true }, token);
  expect(asked).toBe(1);
});

describe('the keys of a set', () => {
  test('are those that can verify RS256; others are passed over', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const short = publicKey.export({ format: 'jwk' });
    const keys = [
      { ...first.jwk, alg: 'RS256', use: 'sig' },
      { ...second.jwk, kid: 'for encryption', use: 'enc' },
      { ...second.jwk, kid: 'for another algorithm', alg: 'PS256' },
      { ...second.jwk, kid: undefined },
      { ...second.jwk, kid: 17 },
      { ...second.jwk, kid: 'first' },
      { kty: 'RSA', kid: 'broken', n: '!', e: 'AQAB' },
      { kty: 'EC', kid: 'of a curve', crv: 'P-256', x: 'x', y: 'y' },
      { ...short, kid: 'too short' },
      null,
      'x',
    ];
    expect([...(await importKeySet({ keys })).keys()]).toEqual(['first']);
  });

  test('are public', async () => {
    for (const member of ['d', 'k', 'p']) {
      const keys = [first.jwk, { ...second.jwk, [member]: 'x' }];
      await expect(importKeySet({ keys })).rejects.toThrow('public keys');
    }
  });

  test.each([
    [undefined],
    [null],
    [17],
    [[]],
    [{}],
    [{ keys: {} }],
    [{ keys: [] }],
    [{ keys: Array(101).fill(null) }],
  ])('are not to be had from %j', async (given) => {
    await expect(importKeySet(given)).rejects.toThrow();
  });
});
