// The signature of a test event: as the platform signs, with a key that only the verification of this one event knows.

import { generateKeyPair, SignJWT } from 'jose';
import type { Verification } from './bot.ts';
import type { KeySets } from './key-sets.ts';
import { TEST_TOKEN_SECONDS } from './limits.ts';
import { createVerify, platformClaims, type VerifyDeps, type VerifyEventToken } from './verify.ts';

/** A token, and the verification that accepts it once. */
export type SignedTest = { token: string; verify: VerifyEventToken };

export type SignTest = (verification: Verification) => Promise<SignedTest>;

/**
 * Signs for a bot what the platform would sign. The verification is that of real events, whose key set it looks up first, and
 * which it then takes to have one key more. The key pair is never stored and the token never sent: neither is known outside of
 * the process.
 */
export function createTestIssuer({ keySets, clock, log }: VerifyDeps): SignTest {
  let pair: ReturnType<typeof generateKeyPair> | undefined;
  return async (verification) => {
    pair ??= generateKeyPair('RS256');
    const { privateKey, publicKey } = await pair;
    const issuedAt = Math.floor(clock.now().getTime() / 1000);
    // Each event has a key id of its own, so that no verification accepts the token of another event.
    const kid = crypto.randomUUID();
    const token = await new SignJWT(platformClaims(verification))
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid })
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + TEST_TOKEN_SECONDS)
      .sign(privateKey);
    let used = false;
    const find: KeySets['find'] = async (source, id) => {
      const published = await keySets.find(source, id);
      if (published !== undefined || id !== kid || used) return published;
      used = true;
      return publicKey;
    };
    return { token, verify: createVerify({ keySets: { find }, clock, log }) };
  };
}
