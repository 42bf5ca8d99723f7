// A real OpenID Connect provider on loopback, where a person signs in with a name alone.

import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration, type JWK } from 'oidc-provider';

export const CLIENT_ID = 'atrium';
export const CLIENT_SECRET = 'client-secret-of-the-tests-0123456789';

/** The claims of a person, beside `sub`, which is the name that signs in. */
type Claims = Record<string, unknown>;

/** Answers a request in the provider's place, as a broken or a forged one would; false: the provider answers it. */
export type Fake = (request: IncomingMessage, response: ServerResponse) => boolean;

export type TestProvider = AsyncDisposable & {
  issuer: string;
  /** The key by which ID tokens are signed, for those that a test forges. */
  signingKey: JWK;
  /** Claims by name; a test may change them between two sign-ins. */
  people: Map<string, Claims>;
  /** Requests that have arrived, as method and path. */
  requests: string[];
  fake: { answer: Fake | undefined };
  /** Registers the service that is reached there. */
  register(serviceUrl: string): void;
  /** The addresses to which the provider sends people back. */
  returnTo(urls: { callbacks: string[]; afterLogout: string[] }): void;
};

/** A key by which ID tokens are signed. */
export function newSigningKey(): JWK {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: 'test', use: 'sig', alg: 'RS256' } as JWK;
}
const SIGNING_KEY = newSigningKey();

/**
 * On `localhost`, so that it is another site to browsers than a service on 127.0.0.1. `issuer`: where it is reached, if not by
 * itself.
 */
export async function startProvider({
  host = 'localhost',
  port = 0,
  issuer: reached,
  signingKey = SIGNING_KEY,
}: {
  host?: string;
  port?: number;
  issuer?: string;
  signingKey?: JWK;
} = {}): Promise<TestProvider> {
  const people = new Map<string, Claims>();
  const requests: string[] = [];
  const fake: TestProvider['fake'] = { answer: undefined };
  let provider: Provider | undefined;
  let serve = (_request: IncomingMessage, response: ServerResponse): unknown => response.writeHead(503).end();
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`);
    if (fake.answer?.(request, response) === true) return;
    if (provider !== undefined && request.url?.startsWith('/interaction/') === true)
      void interact(provider, request, response);
    else serve(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const issuer = reached ?? `http://${host}:${(server.address() as AddressInfo).port}`;
  const returnTo: TestProvider['returnTo'] = ({ callbacks, afterLogout }) => {
    provider = new Provider(issuer, configurationOf({ people, callbacks, afterLogout, signingKey }));
    serve = provider.callback();
  };
  return {
    issuer,
    signingKey,
    people,
    requests,
    fake,
    returnTo,
    register: (url) =>
      returnTo({ callbacks: [`${url}/admin/sign-on/callback`], afterLogout: [`${url}/admin/sign-in`] }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Registration = {
  people: Map<string, Claims>;
  callbacks: string[];
  afterLogout: string[];
  signingKey: JWK;
};

const configurationOf = ({ people, callbacks, afterLogout, signingKey }: Registration): Configuration => ({
  clients: [
    {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: callbacks,
      post_logout_redirect_uris: afterLogout,
    },
  ],
  jwks: { keys: [signingKey] },
  cookies: { keys: ['cookies-of-the-tests'] },
  claims: {
    openid: ['sub'],
    email: ['email', 'email_verified'],
    profile: ['name', 'groups', 'realm_access'],
  },
  pkce: { required: () => true },
  features: {
    devInteractions: { enabled: false },
    rpInitiatedLogout: {
      logoutSource: (context, form) => {
        context.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Sign out</button>`;
      },
    },
  },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...people.get(sub), sub }) }),
  // The organisation has agreed for its people, so the provider shows no page of consent.
  async loadExistingGrant(context) {
    const { client, session, provider } = context.oidc;
    const known = await provider.Grant.find(session?.grantIdFor(client?.clientId ?? '') ?? '');
    if (known !== undefined) return known;
    const grant = new provider.Grant({
      clientId: client?.clientId ?? '',
      accountId: session?.accountId ?? '',
    });
    grant.addOIDCScope('openid email profile');
    await grant.save();
    return grant;
  },
  ttl: {
    Session: 3600,
    Interaction: 3600,
    Grant: 3600,
    AccessToken: 600,
    IdToken: 600,
    AuthorizationCode: 60,
  },
});

/** The page on which people sign in, or give up. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === 'GET' && request.url?.endsWith('/cancel') !== true) {
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><title>Provider</title><form method="post"><label>Name <input name="login"></label><button>Go</button></form><a href="${request.url}/cancel">Cancel</a>`,
    );
    return;
  }
  const accountId = new URLSearchParams(await readText(request)).get('login') ?? '';
  const result =
    request.method === 'POST'
      ? { login: { accountId } }
      : { error: 'access_denied', error_description: 'cancelled' };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}
