// The token of a test event is accepted once, by the verification that was made for it, and by no other.

import { expect, test } from 'bun:test';
import { decodeJwt } from 'jose';
import type { Verification } from '../../src/bots/bot.ts';
import { createKeySets } from '../../src/bots/key-sets.ts';
import { createTestIssuer } from '../../src/bots/test-issuer.ts';
import { createVerify } from '../../src/bots/verify.ts';
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
const keySets = createKeySets({ log: silentLog });
const sign = createTestIssuer({ keySets, clock, log: silentLog });
const verifyAtWebhook = createVerify({ keySets, clock, log: silentLog });

const own = verificationOf('1');
const refused = (accepting: Promise<void>) =>
  expect(accepting).rejects.toMatchObject({ kind: 'unauthenticated' });

test('the verification of a test event accepts its token once', async () => {
  const { token, verify } = await sign(own);
  await verify(own, token);
  await refused(verify(own, token));
});

test('the webhook does not accept it', async () => {
  const { token } = await sign(own);
  await refused(verifyAtWebhook(own, token));
});

test('the verification of another event does not accept it, also of the same bot', async () => {
  const [first, second] = [await sign(own), await sign(own)];
  await refused(second.verify(own, first.token));
  await refused(first.verify(own, second.token));
});

test('it is refused for a bot with another audience', async () => {
  const { token, verify } = await sign(own);
  await refused(verify(verificationOf('2'), token));
});

test('it is valid for a minute', async () => {
  const { token, verify } = await sign(own);
  const { iat = 0, exp = 0 } = decodeJwt(token);
  expect(exp - iat).toBe(60);
  nowMs += 61_000;
  await refused(verify(own, token));
});

test('it accepts no token of a key that only has the name of a published one', async () => {
  const { verify } = await sign(own);
  const stranger = await createSigner('platform');
  const now = Math.floor(nowMs / 1000);
  const iss = 'chat@system.gserviceaccount.com';
  await refused(verify(own, await stranger.token({ iss, aud: '1', iat: now, exp: now + 60 })));
});
