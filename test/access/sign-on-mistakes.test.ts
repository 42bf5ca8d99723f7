// Single sign-on before a provider that is down, late, mistaken or forged. What a real provider cannot be made to answer is a fake.

import { expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import { eventually } from '../support/child.ts';
import { CLIENT_ID, type Fake, startProvider } from '../support/oidc/provider.ts';
import { createVisitor } from '../support/oidc/visitor.ts';
import { startService } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { expectProblem, startSignOn } from './sign-on-setting.ts';

const { provider, settings, url, output, newPerson, comeBack, callback, signIn, withFake } = await shared(
  startSignOn(),
);

test.each([
  ['server_error', 'unavailable', 503],
  ['temporarily_unavailable', 'unavailable', 503],
  ['unauthorized_client', 'refused', 502],
  ['<script>', 'refused', 502],
  ['constructor', 'refused', 502],
  ['__proto__', 'refused', 502],
] as const)('the error %s of the provider becomes a page', async (error, problem, status) => {
  const visitor = createVisitor();
  const address = new URL(await comeBack(visitor, newPerson().name));
  address.searchParams.delete('code');
  address.searchParams.set('error', error);
  address.searchParams.set('error_description', '<script>alert(1)</script>');
  const page = await callback(visitor, address.href);
  expectProblem(page, problem, status);
  expect(page.text).not.toContain('script');
});

/** Why the last sign-in failed, as the log says it. */
const lastReason = (): string => {
  const line = output()
    .split('\n')
    .findLast((each) => each.includes('a single sign-on has failed'));
  return line === undefined ? '' : JSON.parse(line).reason;
};

type Sign = (claims: JWTPayload) => Promise<string>;

const signWith = (jwk: JWK, claims: JWTPayload): Promise<string> =>
  importJWK(jwk, 'RS256').then((key) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'test' }).sign(key),
  );

/** The right claims for a sign-in with this nonce; the person is known to the fake alone. */
const rightClaims = (nonce: string): JWTPayload => {
  const now = Math.floor(Date.now() / 1000);
  return { iss: provider.issuer, aud: CLIENT_ID, sub: 'forged', nonce, iat: now, exp: now + 600 };
};

/** Answers the exchange of a code in the provider's place, with this ID token. */
const answerWith =
  (token: string): Fake =>
  (request, response) => {
    const answers: Record<string, object> = {
      '/token': { access_token: 'opaque', token_type: 'Bearer', id_token: token },
      '/me': { sub: 'forged', email: 'forged@example.com', email_verified: true, groups: ['writers'] },
    };
    const answer = answers[request.url ?? ''];
    if (answer === undefined) return false;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
    return true;
  };

type Forgery = [what: string, sign: Sign, reason: string | undefined];
const changed =
  (change: (claims: JWTPayload) => JWTPayload): Sign =>
  (claims) =>
    signWith(provider.signingKey as JWK, change(claims));
const OTHER_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
const FORGERIES: Forgery[] = [
  ['another nonce', changed((claims) => ({ ...claims, nonce: 'another' })), 'nonce'],
  ['no nonce', changed(({ nonce: _nonce, ...claims }) => claims), 'nonce'],
  ['another issuer', changed((claims) => ({ ...claims, iss: 'https://other.example' })), 'iss'],
  ['another audience', changed((claims) => ({ ...claims, aud: 'other' })), 'aud'],
  ['a further audience', changed((claims) => ({ ...claims, aud: [CLIENT_ID, 'other'] })), 'aud'],
  ['an end in the past', changed((claims) => ({ ...claims, exp: (claims.iat ?? 0) - 600 })), 'exp'],
  ['the signature of another key', (claims) => signWith(OTHER_KEY as JWK, claims), 'signature'],
  ['another person than the UserInfo endpoint', changed((claims) => ({ ...claims, sub: 'other' })), 'sub'],
  ['nothing that is wrong', changed((claims) => claims), undefined],
];

test.each(FORGERIES)(
  'of the ID tokens of a fake only the right one is accepted: %s',
  async (_what, sign, reason) => {
    const visitor = createVisitor();
    const start = await visitor.load(`${url}/admin/sign-on`);
    const asked = new URL(start.headers.get('location') ?? '').searchParams;
    const token = await sign(rightClaims(asked.get('nonce') ?? ''));
    const answer = new URLSearchParams({
      code: 'any',
      state: asked.get('state') ?? '',
      iss: provider.issuer,
    });
    await withFake(answerWith(token), async () => {
      const page = await callback(visitor, `${url}/admin/sign-on/callback?${answer}`);
      if (reason === undefined) return expect(page.status).toBe(200);
      expectProblem(page, 'untrusted', 502);
      await eventually('the reason in the log', () => lastReason().includes(reason));
    });
  },
);

test.each([
  ['answers 503', 503, 'text/plain', 'down', 'unavailable', 503],
  ['refuses the secret', 401, 'application/json', '{"error":"invalid_client"}', 'refused', 502],
  ['answers nonsense', 200, 'text/html', '<p>Hello', 'untrusted', 502],
  ['answers no token', 200, 'application/json', '{}', 'untrusted', 502],
] as const)(
  'a provider that %s for the code (a fake) gives a page',
  async (_what, code, type, text, problem, status) => {
    const visitor = createVisitor();
    const address = await comeBack(visitor, newPerson().name);
    const fail: Fake = (request, response) => {
      if (!request.url?.startsWith('/token')) return false;
      response.writeHead(code, { 'content-type': type }).end(text);
      return true;
    };
    await withFake(fail, async () => expectProblem(await callback(visitor, address), problem, status));
  },
);

test('a provider that does not answer in time (a fake) gives a page, and the sign-in after it succeeds', async () => {
  const { name } = newPerson();
  const visitor = createVisitor();
  const address = await comeBack(visitor, name);
  await withFake(
    (request) => request.url?.startsWith('/token') === true,
    async () => expectProblem(await callback(visitor, address), 'unavailable', 503),
  );
  expect((await signIn(visitor, name)).status).toBe(200);
});

test('a service starts while its provider is down, and people sign in once it is there; a proxy ends TLS', async () => {
  await using late = await startProvider();
  const environment = {
    ...settings,
    OIDC_ISSUER: late.issuer,
    PUBLIC_URL: 'https://portal.example',
    TRUSTED_PROXIES: '127.0.0.1',
  };
  await using other = await startService({ environment });
  const visitor = createVisitor();
  const begin = () => visitor.load(`${other.url}/admin/sign-on`);
  const during = async (answer: Fake, problem: string, status: number): Promise<void> => {
    late.fake.answer = answer;
    expectProblem(await begin(), problem, status);
  };
  await during((request) => request.socket.destroy() !== undefined, 'unavailable', 503);
  await during((_request, response) => response.writeHead(503).end() !== undefined, 'unavailable', 503);
  await during(() => true, 'unavailable', 503);
  const document = { issuer: 'https://other.example', authorization_endpoint: 'https://other.example/auth' };
  const lie: Fake = (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document)) !==
    undefined;
  await during(lie, 'untrusted', 502);
  expectProblem(await visitor.load(`${other.url}/admin/sign-on/end`), 'still-signed-in', 503);
  late.fake.answer = undefined;
  late.register('https://portal.example');
  const target = new URL((await begin()).headers.get('location') ?? '');
  expect(target.searchParams.get('redirect_uri')).toBe('https://portal.example/admin/sign-on/callback');
  // What was discovered once outlives the provider.
  late.fake.answer = (request) => request.socket.destroy() !== undefined;
  const headers = { 'x-forwarded-proto': 'https', host: 'portal.example' };
  const answer = await fetch(`${other.url}/admin/sign-on`, { headers, redirect: 'manual' });
  expect([answer.status, answer.headers.get('set-cookie')?.endsWith('; Secure')]).toEqual([303, true]);
  expect((await visitor.load(`${other.url}/admin/sign-in`)).text).toContain(
    'data-url="https://portal.example/admin/sign-on"',
  );
});
