// Verification of the tokens by which the platform signs the events of a bot.

import { type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Clock } from '../core/clock.ts';
import { ServiceError, unauthenticated } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Verification } from './bot.ts';
import type { KeySetUrl } from './fetch-key-set.ts';
import type { KeySets } from './key-sets.ts';
import { CLOCK_TOLERANCE_SECONDS, TOKEN_LENGTH_MAX } from './limits.ts';

const PLATFORM = 'chat@system.gserviceaccount.com';

/** Where the platform publishes the keys that it signs with. */
const PLATFORM_KEYS = {
  project_number: `https://www.googleapis.com/service_accounts/v1/jwk/${PLATFORM}`,
  endpoint_url: 'https://www.googleapis.com/oauth2/v3/certs',
};

const GOOGLE = 'https://accounts.google.com';

const ISSUERS = {
  project_number: [PLATFORM],
  endpoint_url: [GOOGLE, 'accounts.google.com'],
};

/** What the platform's token for a bot says, besides its times: the inverse of the checks below. */
export const platformClaims = ({ mode, audience, service_account_email }: Verification): JWTPayload =>
  mode === 'endpoint_url'
    ? { iss: GOOGLE, aud: audience ?? '', email: service_account_email ?? PLATFORM, email_verified: true }
    : { iss: PLATFORM, aud: audience ?? '' };

export type VerifyDeps = { keySets: KeySets; clock: Clock; log: Logger };
export type VerifyEventToken = (verification: Verification, token: string) => Promise<void>;

/** Resolves for a token that the bot's verification accepts. Throws 401 for any other, and 503 if the keys are unavailable. */
export function createVerify({ keySets, clock, log }: VerifyDeps): VerifyEventToken {
  return async (verification, token) => {
    const { mode, audience, jwks, jwks_anywhere: anywhere } = verification;
    if (mode === 'key' || audience === null) throw unauthenticated('This bot accepts API keys alone');
    if (token.length > TOKEN_LENGTH_MAX) throw refused();
    const source =
      jwks === null
        ? { url: PLATFORM_KEYS[mode], anywhere: true }
        : typeof jwks === 'string'
          ? { url: jwks, anywhere }
          : jwks;
    const now = clock.now();
    const options: JWTVerifyOptions = {
      algorithms: ['RS256'],
      audience,
      requiredClaims: ['exp'],
      issuer: ISSUERS[mode],
      currentDate: now,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
    };
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => keyOf(keySets, source, kid), options);
      requirePresent(payload, now.getTime() / 1000);
      if (mode === 'endpoint_url') requireAccount(payload, verification.service_account_email ?? PLATFORM);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      log.debug({ err: error }, 'a token was refused');
      throw refused(error);
    }
  };
}

const refused = (cause?: unknown) => unauthenticated('The token is not one that this bot accepts', { cause });

/** Without a promise where the key set is cached. */
function keyOf(
  keySets: KeySets,
  source: KeySetUrl | object,
  kid: string | undefined,
): CryptoKey | Promise<CryptoKey> {
  const found = kid === undefined ? undefined : keySets.find(source, kid);
  return found instanceof Promise ? found.then(requireKey) : requireKey(found);
}

function requireKey(key: CryptoKey | undefined): CryptoKey {
  if (key === undefined) throw new Error('the token names no key of the set');
  return key;
}

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
