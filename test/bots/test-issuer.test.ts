// The token of a test event is accepted by the verification of that event, and by no other.

import { expect, test } from 'bun:test';
import { decodeJwt } from 'jose';
import type { Verification } from '../../src/bots/bots.ts';
import { createKeySets } from '../../src/bots/key-sets.ts';
import { createTokenVerifier } from '../../src/bots/verify.ts';
import { silentLog } from '../support/database.ts';
import { createSigner } from './signer.ts';

const { jwk } = await createSigner('platform');
const verificationOf = (audience: string): Verification => ({
  mode: 'project_number',
  audience,
  jwks: { keys: [jwk] },
  jwks_anywhere: false,
});
let nowMs = Date.parse('2026-01-31T10:00:00Z');
const clock = { now: () => new Date(nowMs) };
const tokens = createTokenVerifier(createKeySets(silentLog), clock, silentLog);

const own = verificationOf('1');
const refused = (accepting: Promise<void>) =>
  expect(accepting).rejects.toMatchObject({ kind: 'unauthenticated' });

test('its own verification accepts it, the webhook and other events of the same bot do not', async () => {
  const [first, second] = [await tokens.signTest(own), await tokens.signTest(own)];
  await tokens.verify(own, first.token, first.testKey);
  await refused(tokens.verify(own, first.token));
  await refused(tokens.verify(own, first.token, second.testKey));
  await refused(tokens.verify(own, second.token, first.testKey));
});

test('it is refused for a bot with another audience', async () => {
  const { token, testKey } = await tokens.signTest(own);
  await refused(tokens.verify(verificationOf('2'), token, testKey));
});

test('it is valid for a minute', async () => {
  const { token, testKey } = await tokens.signTest(own);
  const { iat = 0, exp = 0 } = decodeJwt(token);
  expect(exp - iat).toBe(60);
  nowMs += 61_000;
  await refused(tokens.verify(own, token, testKey));
});

test('its verification accepts no token of a key that only has the name of a published one', async () => {
  const { testKey } = await tokens.signTest(own);
  const stranger = await createSigner('platform');
  const now = Math.floor(nowMs / 1000);
  const iss = 'chat@system.gserviceaccount.com';
  await refused(
    tokens.verify(own, await stranger.token({ iss, aud: '1', iat: now, exp: now + 60 }), testKey),
  );
});
