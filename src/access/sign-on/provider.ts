// The provider of single sign-on. The library that speaks to it is loaded at the first sign-in.

import type { ClientAuth, Configuration } from 'openid-client';
import {
  PROVIDER_ANSWER_BYTES_MAX,
  PROVIDER_RETRY_MS,
  PROVIDER_TIMEOUT_SECONDS,
  PROVIDER_TTL_MS,
  SIGN_ON_CLOCK_SKEW_SECONDS,
} from '../limits.ts';
import type { Flight } from './flight.ts';
import type { Claims } from './roles.ts';
import type { SignOnSettings } from './settings.ts';

type Library = typeof import('openid-client');
type Known = { library: Library; configuration: Configuration; freshUntil: number };

/**
 * Each function rejects with the library's error where the provider is down or late, or where its answer is not what the
 * sign-in asked for. `now`: monotonic milliseconds.
 */
export function createProvider(settings: SignOnSettings, now = () => performance.now()) {
  const { issuer, clientId, scopes } = settings;
  let known: Known | undefined;
  let discovery: Promise<Known> | undefined;

  /** An earlier discovery outlives a failed later one. */
  const discoverAgain = async (): Promise<Known> => {
    try {
      known = { ...(await discover(settings)), freshUntil: now() + PROVIDER_TTL_MS };
    } catch (error) {
      if (known === undefined) throw error;
      known = { ...known, freshUntil: now() + PROVIDER_RETRY_MS };
    }
    return known;
  };

  const connect = (): Promise<Known> => {
    if (known !== undefined && now() < known.freshUntil) return Promise.resolve(known);
    discovery ??= discoverAgain().finally(() => {
      discovery = undefined;
    });
    return discovery;
  };

  return {
    /** Where the browser goes to sign in. `reauthenticate`: the provider asks again who the person is. */
    async authorizationUrl(flight: Flight, redirectUri: string, reauthenticate: boolean): Promise<URL> {
      const { library, configuration } = await connect();
      return library.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: scopes,
        state: flight.state,
        nonce: flight.nonce,
        code_challenge: await library.calculatePKCECodeChallenge(flight.verifier),
        code_challenge_method: 'S256',
        ...(reauthenticate ? { prompt: 'login' } : {}),
      });
    },

    /**
     * Exchanges the code of the callback for the claims of the ID token, with those of the UserInfo endpoint: some providers
     * name groups only there. State, nonce, issuer, audience, times and signature are verified.
     */
    async exchange(callback: URL, flight: Flight): Promise<Claims> {
      const { library, configuration } = await connect();
      const tokens = await library.authorizationCodeGrant(configuration, callback, {
        expectedState: flight.state,
        expectedNonce: flight.nonce,
        pkceCodeVerifier: flight.verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('the provider has sent no ID token');
      if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
      return mergeClaims(await library.fetchUserInfo(configuration, tokens.access_token, claims.sub), claims);
    },

    /** Where the browser ends its session at the provider; undefined where the provider offers no such page. */
    async logoutUrl(returnTo: string): Promise<URL | undefined> {
      const { library, configuration } = await connect();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      return library.buildEndSessionUrl(configuration, {
        client_id: clientId,
        post_logout_redirect_uri: returnTo,
      });
    },
  };

  async function discover(wanted: SignOnSettings): Promise<Pick<Known, 'library' | 'configuration'>> {
    const library = await import('openid-client');
    const insecure = issuer.startsWith('http:') ? [library.allowInsecureRequests] : [];
    const found = await library.discovery(new URL(issuer), clientId, undefined, library.None(), {
      execute: insecure,
      timeout: PROVIDER_TIMEOUT_SECONDS,
      [library.customFetch]: fetchBounded,
    });
    const metadata = found.serverMetadata();
    const configuration = new library.Configuration(
      metadata,
      clientId,
      { [library.clockTolerance]: SIGN_ON_CLOCK_SKEW_SECONDS },
      authenticationOf(library, wanted, metadata.token_endpoint_auth_methods_supported),
    );
    configuration.timeout = PROVIDER_TIMEOUT_SECONDS;
    configuration[library.customFetch] = fetchBounded;
    for (const allow of insecure) allow(configuration);
    library.enableNonRepudiationChecks(configuration);
    return { library, configuration };
  }
}

/** The claims of the ID token come first. `email_verified` is a statement about the address that stands beside it, about no other. */
function mergeClaims({ email, email_verified: verified, ...profile }: Claims, token: Claims): Claims {
  const isOfSameAddress = token['email'] === undefined || token['email'] === email;
  return { ...profile, ...(isOfSameAddress ? { email, email_verified: verified } : {}), ...token };
}

/** Rejects for an answer that is larger than any that a sign-in needs, before it is in memory. */
async function fetchBounded(url: string, options: object): Promise<Response> {
  const response = await fetch(url, options);
  if (response.body === null) return response;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > PROVIDER_ANSWER_BYTES_MAX)
      throw new Error(`the provider has answered more than ${PROVIDER_ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(size === 0 ? null : Buffer.concat(chunks), { status, headers });
}

/** `client_secret_basic` is what providers accept unless they say otherwise (OpenID Connect Core, 9). */
function authenticationOf(
  library: Library,
  { clientSecret }: SignOnSettings,
  supported: readonly string[] = ['client_secret_basic'],
): ClientAuth {
  if (clientSecret === undefined) return library.None();
  return supported.includes('client_secret_basic') || !supported.includes('client_secret_post')
    ? library.ClientSecretBasic(clientSecret)
    : library.ClientSecretPost(clientSecret);
}
