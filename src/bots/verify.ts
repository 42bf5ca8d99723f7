// Tokens by which the platform signs the events of a bot: their verification, and the tokens of test events.

import { errors, generateKeyPair, type JWTPayload, type JWTVerifyGetKey, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../core/clock.ts';
import { ServiceError, unauthenticated } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Verification } from './bots.ts';
import type { KeySets } from './key-sets.ts';
import { CLOCK_TOLERANCE_SECONDS, TEST_TOKEN_SECONDS, TOKEN_LENGTH_MAX } from './limits.ts';

const PLATFORM = 'chat@system.gserviceaccount.com';
const GOOGLE = 'https://accounts.google.com';

/** Where the platform publishes the keys that it signs with. */
const PLATFORM_KEYS = {
  project_number: `https://www.googleapis.com/service_accounts/v1/jwk/${PLATFORM}`,
  endpoint_url: 'https://www.googleapis.com/oauth2/v3/certs',
};
const ISSUERS = { project_number: [PLATFORM], endpoint_url: [GOOGLE, 'accounts.google.com'] };

/** A key that only the verification of one test event knows. */
export type TestKey = { kid: string; publicKey: CryptoKey };

export type TokenVerifier = ReturnType<typeof createTokenVerifier>;

export function createTokenVerifier(keySets: KeySets, clock: Clock, log: Logger) {
  let pair: ReturnType<typeof generateKeyPair> | undefined;
  return {
    /**
     * Resolves for a token that the bot's verification accepts; a test event's key counts as one more of the bot's key set. Throws 401 for
     * any other token, and 503 if the keys are unavailable.
     */
    async verify(verification: Verification, token: string, testKey?: TestKey): Promise<void> {
      const { mode, audience, jwks, jwks_anywhere: anywhere } = verification;
      if (mode === 'key' || audience === null) throw unauthenticated('This bot accepts API keys alone');
      if (token.length > TOKEN_LENGTH_MAX) throw refused();
      const now = clock.now();
      try {
        const keys = keySets.of(
          jwks === null
            ? { url: PLATFORM_KEYS[mode], anywhere: true }
            : typeof jwks === 'string'
              ? { url: jwks, anywhere }
              : jwks,
        );
        const { payload } = await jwtVerify(token, withTestKey(keys, testKey), {
          algorithms: ['RS256'],
          audience,
          requiredClaims: ['exp'],
          issuer: ISSUERS[mode],
          currentDate: now,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
        });
        requirePresent(payload, now.getTime() / 1000);
        if (mode === 'endpoint_url') requireAccount(payload, verification.service_account_email ?? PLATFORM);
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        log.debug({ err: error }, 'a token was refused');
        throw refused(error);
      }
    },

    /**
     * Signs for a bot what the platform would sign. Each event has a key id of its own, so that no verification accepts the token of another
     * event; the key pair is never stored, and the token never sent.
     */
    async signTest({
      mode,
      audience,
      service_account_email,
    }: Verification): Promise<{ token: string; testKey: TestKey }> {
      pair ??= generateKeyPair('RS256');
      const { privateKey, publicKey } = await pair;
      const issuedAt = Math.floor(clock.now().getTime() / 1000);
      const kid = crypto.randomUUID();
      const claims =
        mode === 'endpoint_url'
          ? { iss: GOOGLE, email: service_account_email ?? PLATFORM, email_verified: true }
          : { iss: PLATFORM };
      const token = await new SignJWT({ ...claims, aud: audience ?? '' })
        .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid })
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + TEST_TOKEN_SECONDS)
        .sign(privateKey);
      return { token, testKey: { kid, publicKey } };
    },
  };
}

const refused = (cause?: unknown) => unauthenticated('The token is not one that this bot accepts', { cause });

const withTestKey =
  (keys: JWTVerifyGetKey, testKey: TestKey | undefined): JWTVerifyGetKey =>
  async (header, token) => {
    if (header.kid === undefined) throw new Error('the token names no key');
    try {
      return await keys(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey && header.kid === testKey?.kid) return testKey.publicKey;
      throw error;
    }
  };

/** The tolerance applies only to `iat`, for a clock that runs ahead; an expired token was valid for an hour before. */
function requirePresent({ iat, exp }: JWTPayload, nowSeconds: number): void {
  if (iat !== undefined && iat > nowSeconds + CLOCK_TOLERANCE_SECONDS)
    throw new Error('the token is from the future');
  if (exp === undefined || exp <= nowSeconds) throw new Error('the token has expired');
}

/** Identity tokens for any audience are available to every account; the e-mail identifies the sender of events. */
function requireAccount({ email, email_verified: verified }: JWTPayload, account: string): void {
  if (email !== account || verified !== true) throw new Error('the token is of another account');
}
