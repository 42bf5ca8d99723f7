// Key sets over the hours: how long one is used, what an outage of its URL does, what an unknown key costs.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setSystemTime, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { errors, type JWK } from 'jose';
import { createKeySets, type KeySets, toKeySet } from '../../src/bots/key-sets.ts';
import { createTokenVerifier } from '../../src/bots/verify.ts';
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

let keySets: KeySets;
beforeEach(() => {
  url = `http://127.0.0.1:${server.port}/${crypto.randomUUID()}`;
  published = [first.jwk];
  down = false;
  asked = 0;
  keySets = createKeySets(silentLog);
});
afterEach(() => {
  setSystemTime();
});
const later = (ms: number) => setSystemTime(Date.now() + ms);

const find = async (kid: string, anywhere = true): Promise<boolean> => {
  try {
    await keySets.of({ url, anywhere })({ alg: 'RS256', kid }, { payload: '', signature: '' });
    return true;
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return false;
    throw error;
  }
};

describe('a key set at a URL', () => {
  test('is fetched once by however many ask at the same time', async () => {
    const found = await Promise.all(Array.from({ length: 50 }, () => find('first')));
    expect(found.every(Boolean)).toBe(true);
    expect(asked).toBe(1);
  });

  test('is fetched again after an hour: a key that was withdrawn is good no longer', async () => {
    await find('first');
    published = [second.jwk];
    later(HOUR_MS - 1000);
    expect(await find('first')).toBe(true);
    later(1000);
    expect(await find('first')).toBe(false);
    expect(await find('second')).toBe(true);
  });

  test('goes on for a day while its URL is down, and is there when it is back', async () => {
    await find('first');
    down = true;
    for (let hour = 0; hour < 23; hour++) {
      later(HOUR_MS);
      expect(await find('first')).toBe(true);
    }
    later(2 * HOUR_MS);
    await expect(find('first')).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 2 });
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
    later(10_000);
    down = true;
    expect(await find('unknown')).toBe(false);
    expect(await find('first')).toBe(true);
    expect(asked).toBe(3);
  });
});

test('a URL that may lead to public addresses alone is not asked elsewhere, nor answered for by one that may', async () => {
  await find('first');
  for (let round = 0; round < 5; round++)
    await expect(find('first', false)).rejects.toMatchObject({ kind: 'unavailable' });
  expect(asked).toBe(1);
  expect(await find('first')).toBe(true);
});

test("a bot's token has its keys fetched from where the registration may lead, and from nowhere else", async () => {
  const tokens = createTokenVerifier(keySets, systemClock, silentLog);
  const seconds = Math.floor(Date.now() / 1000);
  const token = await first.token({ iss: 'chat@system.gserviceaccount.com', aud: '17', exp: seconds + 60 });
  const verification = { mode: 'project_number', audience: '17', jwks: url } as const;
  const publicly = tokens.verify({ ...verification, jwks_anywhere: false }, token);
  await expect(publicly).rejects.toMatchObject({ kind: 'unavailable' });
  expect(asked).toBe(0);
  await tokens.verify({ ...verification, jwks_anywhere: true }, token);
  expect(asked).toBe(1);
});

describe('the keys of a set', () => {
  test('are those that can verify RS256; others are passed over', () => {
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
    expect(toKeySet({ keys }).keys.map(({ kid }) => kid)).toEqual(['first']);
  });

  test('are public', () => {
    for (const member of ['d', 'k', 'p']) {
      const keys = [first.jwk, { ...second.jwk, [member]: 'x' }];
      expect(() => toKeySet({ keys })).toThrow('public keys');
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
  ])('are not to be had from %j', (given) => {
    expect(() => toKeySet(given)).toThrow();
  });
});
