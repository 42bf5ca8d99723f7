// Who may send events: the platform by its tokens, in each mode, and keys with the scope `bots`.

import { beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT, UnsecuredJWT } from 'jose';
import { eventually } from '../../support/child.ts';
import { shared } from '../../support/shared.ts';
import {
  type BotClient,
  createBotClient,
  createSigner,
  identityFor,
  messageEvent,
  PLATFORM,
  PROJECT,
  registerBot,
  serveKeys,
} from '../support/bots.ts';
import { type Answer, expectRefusal, expectStatus } from '../support/caller.ts';
import * as entry from '../support/entries.ts';
import { sendRaw } from '../support/raw-request.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting());
const signer = await createSigner();
const keys = await shared(serveKeys(signer));
const bot = await registerBot(setting, keys.url);

const hello = () => messageEvent('hello');
const seconds = (): number => Math.floor(Date.now() / 1000);

function expectUnauthenticated(answer: Answer): void {
  expectRefusal(answer, 401);
  expect(answer.headers.get('www-authenticate')).toMatch(/^\w+ /);
}

describe('the header authorization', () => {
  test('is required', async () => {
    const json = hello();
    for (const options of [{ json }, { json, key: setting.adminKey }]) {
      const answer = await setting.call('POST', bot.path, options);
      expectStatus(answer, 422);
      expect(JSON.parse(answer.text)).toEqual({ detail: [entry.missing(['header', 'authorization'], null)] });
    }
  });

  test('holds the token with or without Bearer', async () => {
    const token = await signer.token();
    for (const value of [token, `Bearer ${token}`, `bearer  ${token} `])
      expectStatus(await bot.send(hello(), value), 200);
  });

  test('that holds neither token nor key is refused before the body is read', async () => {
    for (const value of [
      '',
      ' ',
      'Bearer',
      'Bearer ',
      'x',
      'Basic YTpi',
      'a.b.c',
      'eyJ',
      'eyJ.',
      '..',
      'eyJ..',
      'eyJhIjoxfQ.e30.eA',
    ])
      expectUnauthenticated(
        await setting.call('POST', bot.path, { headers: { authorization: value }, json: 1 }),
      );
  });

  test('of tens of thousands of characters is refused with 401', async () => {
    const payload = Buffer.from(JSON.stringify({ iss: PLATFORM, pad: 'x'.repeat(40_000) })).toString(
      'base64url',
    );
    const [header, , signature] = (await signer.token()).split('.');
    for (const value of [
      `${header}.${payload}.${signature}`,
      'x'.repeat(60_000),
      `eyJ${'x'.repeat(60_000)}.e.e`,
    ]) {
      const raw = await sendRaw(setting.url, {
        head: [`POST ${bot.path} HTTP/1.1`, `authorization: Bearer ${value}`, 'content-length: 0'],
      });
      expect(raw.slice(0, 12)).toBe('HTTP/1.1 401');
    }
  });
});

describe('a key', () => {
  test('with the scope is accepted in each mode, and without it refused with 403', async () => {
    const { key } = await setting.people.newKey({ scopes: ['bots'] });
    const { key: other } = await setting.people.newKey({ scopes: ['chat', 'documents:read', 'admin'] });
    const modes = [
      { mode: 'project_number', audience: PROJECT, jwks: keys.url },
      { mode: 'endpoint_url', audience: 'https://bots.example/chatapp', jwks: keys.url },
      { mode: 'key' },
    ];
    for (const verification of modes) {
      const client = createBotClient(setting);
      expectStatus(await client.put({ verification }), 200);
      expectStatus(await client.send(hello(), `Bearer ${key}`), 200);
      expectStatus(await client.send(hello(), key), 200);
      expectRefusal(await client.send(hello(), `Bearer ${other}`), 403);
      expectUnauthenticated(await client.send(hello(), `Bearer ${key}x`));
    }
  });

  test('of another workspace is refused with 403, and a revoked one with 401', async () => {
    const elsewhere = await setting.elsewhere();
    const { key } = await elsewhere.people.newKey({ scopes: ['bots'] });
    expectRefusal(await bot.send(hello(), key), 403);
    const revoked = await setting.people.newKey({ scopes: ['bots'] });
    expectStatus(await setting.people.revoke(revoked.id), 204);
    expectUnauthenticated(await bot.send(hello(), revoked.key));
  });

  test('is the only credential of a bot in the mode key', async () => {
    const client = createBotClient(setting);
    expectStatus(await client.put({ verification: { mode: 'key', audience: PROJECT, jwks: keys.url } }), 200);
    expectUnauthenticated(await client.send(hello(), await signer.token()));
  });
});

describe('an unknown bot', () => {
  test('is 404 for whoever may ask, and for tokens, which nothing could verify', async () => {
    const unknown = createBotClient(setting);
    expectRefusal(await unknown.send(hello(), setting.adminKey), 404);
    expectRefusal(await unknown.send(hello(), await signer.token()), 404);
    expectRefusal(await unknown.send({}, setting.adminKey), 404);
    expectUnauthenticated(await unknown.send(hello(), 'nobody'));
  });
});

/** From the second at which the token is made. */
type Claims = (now: number) => Record<string, unknown>;

describe('a token of a project', () => {
  const REFUSED: [string, claims: Claims, header: Record<string, unknown>][] = [
    ['expired', (now) => ({ exp: now - 60 }), {}],
    ['expired just now', (now) => ({ exp: now - 1 }), {}],
    ['without an expiry', () => ({ exp: undefined }), {}],
    ['with an expiry that is no number', () => ({ exp: 'tomorrow' }), {}],
    ['issued in the future', (now) => ({ iat: now + 600 }), {}],
    ['not yet valid', (now) => ({ nbf: now + 600 }), {}],
    ['for another audience', () => ({ aud: '999' }), {}],
    ['for no audience', () => ({ aud: undefined }), {}],
    ['of another issuer', () => ({ iss: 'https://accounts.google.com' }), {}],
    ['of no issuer', () => ({ iss: undefined }), {}],
    ['without a kid', () => ({}), { kid: undefined }],
    ['with an unknown kid', () => ({}), { kid: 'unknown' }],
    ['with a kid that is no text', () => ({}), { kid: 17 }],
    ['with an unknown critical header', () => ({}), { crit: ['x'], x: 1 }],
  ];

  test.each(REFUSED)('%s is refused with 401', async (_title, claimsAt, header) => {
    const claims = claimsAt(seconds());
    const token = await signer.token(claims, header).catch(() => forged(claims, header));
    expectUnauthenticated(await bot.send(hello(), `Bearer ${token}`));
  });

  /** What the signing library itself refuses to make. */
  function forged(claims: object, header: object = {}): string {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const head = { alg: 'RS256', kid: signer.kid, ...header };
    return `${encode(head)}.${encode({ iss: PLATFORM, aud: PROJECT, exp: seconds() + 60, ...claims })}.AAAA`;
  }

  test('for one of several audiences is accepted', async () => {
    expectStatus(await bot.send(hello(), await signer.token({ aud: ['999', PROJECT] })), 200);
  });

  test('whose signature is absent, changed, or of another key is refused with 401', async () => {
    const claims = { iss: PLATFORM, aud: PROJECT, iat: seconds(), exp: seconds() + 600 };
    const good = await signer.token();
    const [head = '', body = '', signature = ''] = good.split('.');
    const stranger = await createSigner(signer.kid);
    const tokens = [
      new UnsecuredJWT(claims).encode(),
      `${head}.${body}.`,
      `${head}.${body}.${signature.slice(0, -4)}AAAA`,
      `${head}.${Buffer.from(JSON.stringify({ ...claims, sub: 'x' })).toString('base64url')}.${signature}`,
      await stranger.token(),
      forged({}, { alg: 'none' }),
      forged({}, { alg: 'RS512' }),
      forged({}, { alg: 17 }),
    ];
    for (const token of tokens) expectUnauthenticated(await bot.send(hello(), `Bearer ${token}`));
    expectStatus(await bot.send(hello(), good), 200);
  });

  test('signed with the public key as a secret is refused with 401', async () => {
    const publicKey = (await importJWK({ ...signer.jwk, ext: true }, 'RS256', {
      extractable: true,
    })) as CryptoKey;
    const pem = await exportSPKI(publicKey);
    const secrets = [pem, pem.trim(), JSON.stringify(signer.jwk), signer.jwk.n ?? ''];
    for (const secret of secrets) {
      const token = await new SignJWT({ iss: PLATFORM, aud: PROJECT, exp: seconds() + 600 })
        .setProtectedHeader({ alg: 'HS256', kid: signer.kid })
        .sign(new TextEncoder().encode(secret));
      expectUnauthenticated(await bot.send(hello(), `Bearer ${token}`));
    }
  });

  test('that carries a key of its own is refused with 401', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = await exportJWK(publicKey);
    const token = await new SignJWT({ iss: PLATFORM, aud: PROJECT, exp: seconds() + 600 })
      .setProtectedHeader({ alg: 'RS256', kid: 'mine', jwk, jku: keys.url })
      .sign(privateKey);
    expectUnauthenticated(await bot.send(hello(), `Bearer ${token}`));
  });
});

describe('a token of any kind', () => {
  const part = fc.oneof(
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
    fc.base64String().map((text) => text.replaceAll(/[+/=]/g, '')),
    fc.string({ unit: 'grapheme-ascii' }).map((text) => text.trim()),
  );
  const header = fc
    .record(
      {
        alg: fc.constantFrom('RS256', 'none', 'HS256', 'ES256', '', null, 1),
        kid: fc.constantFrom('', 'unknown', '__proto__', null, 1),
        crit: fc.anything(),
        b64: fc.boolean(),
        jwk: fc.anything(),
        typ: fc.anything(),
      },
      { requiredKeys: [] },
    )
    .map((value) => Buffer.from(encodeJson(value)).toString('base64url'));
  const encodeJson = (value: unknown): string =>
    JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? String(item) : item));

  test('that the platform has not signed is refused with 401', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(header, part), part, part, async (head, payload, signature) => {
        expectUnauthenticated(await bot.send(hello(), `Bearer ${head}.${payload}.${signature}`));
      }),
      { numRuns: 300 },
    );
  });

  test('of which anything that is signed was changed is refused with 401', async () => {
    const good = await signer.token();
    const signed = good.lastIndexOf('.');
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: signed - 1 }), fc.constantFrom(...'Ab3_-.'), async (at, letter) => {
        const changed = good.slice(0, at) + letter + good.slice(at + 1);
        if (changed !== good) expectUnauthenticated(await bot.send(hello(), `Bearer ${changed}`));
      }),
      { numRuns: 300 },
    );
  });
});

describe('an identity token for the URL', () => {
  const audience = 'https://bots.example/chatapp/acme/bot';
  let client: BotClient;
  beforeAll(async () => {
    client = createBotClient(setting);
    expectStatus(await client.put({ verification: { mode: 'endpoint_url', audience, jwks: keys.url } }), 200);
  });

  const CASES: [string, number, Claims][] = [
    ['of the platform', 200, () => ({})],
    ['of the platform, its issuer in short', 200, () => ({ iss: 'accounts.google.com' })],
    ['of somebody else', 401, () => ({ email: 'somebody@example.com' })],
    ['of nobody', 401, () => ({ email: undefined })],
    ['whose e-mail is not verified', 401, () => ({ email_verified: false })],
    ['whose e-mail says so in words', 401, () => ({ email_verified: 'true' })],
    ['whose e-mail does not say', 401, () => ({ email_verified: undefined })],
    ['for another URL', 401, () => ({ aud: `${audience}/` })],
    ['for no URL', 401, () => ({ aud: undefined })],
    ['of another issuer', 401, () => ({ iss: 'https://issuer.example' })],
    ['of no issuer', 401, () => ({ iss: undefined })],
    ['of an issuer that is no text', 401, () => ({ iss: ['https://accounts.google.com'] })],
    ['that is expired', 401, (now) => ({ exp: now - 60 })],
    ['without an expiry', 401, () => ({ exp: undefined })],
    ['issued in the future', 401, (now) => ({ iat: now + 600 })],
    ['not yet valid', 401, (now) => ({ nbf: now + 600 })],
    ['by a clock that is a moment ahead', 200, (now) => ({ iat: now + 5, nbf: now + 5 })],
  ];
  test.each(CASES)('%s: %d', async (_title, status, claimsAt) => {
    const token = await signer.token({ ...identityFor(audience), ...claimsAt(seconds()) });
    expectStatus(await client.send(hello(), `Bearer ${token}`), status);
  });

  test('is none of a project, nor the other way round', async () => {
    expectUnauthenticated(await client.send(hello(), await signer.token()));
    expectUnauthenticated(await bot.send(hello(), await signer.token(identityFor(audience))));
  });
});

describe('the key set', () => {
  test('may stand in the registration', async () => {
    const own = await createSigner();
    const client = await registerBot(setting, { keys: [own.jwk] });
    expectStatus(await client.send(hello(), await own.token()), 200);
    expectUnauthenticated(await client.send(hello(), await signer.token()));
  });

  test('is fetched once, and goes on while its URL is down', async () => {
    const own = await createSigner();
    using server = serveKeys(own);
    const client = await registerBot(setting, server.url);
    for (let round = 0; round < 5; round++) expectStatus(await client.send(hello(), await own.token()), 200);
    expect(server.asked()).toBe(1);
    server.behave(() => new Response(null, { status: 500 }));
    expectStatus(await client.send(hello(), await own.token()), 200);
    expectUnauthenticated(await client.send(hello(), await own.token({}, { kid: 'unknown' })));
    expectStatus(await client.send(hello(), await own.token()), 200);
  });

  test('is fetched anew for a key that it does not have, but not for each', async () => {
    const [old, next] = [await createSigner(), await createSigner()];
    using server = serveKeys(old);
    const client = await registerBot(setting, server.url);
    expectStatus(await client.send(hello(), await old.token()), 200);
    server.publish([old.jwk, next.jwk]);
    expectStatus(await client.send(hello(), await next.token()), 200);
    const unknown = await Promise.all(
      Array.from({ length: 10 }, (_, at) => old.token({}, { kid: `k${at}` })),
    );
    // All at once, within the pause of ten seconds that follows.
    for (const answer of await Promise.all(unknown.map((token) => client.send(hello(), token))))
      expectUnauthenticated(answer);
    expect(server.asked()).toBe(2);
  });

  const stalling = () =>
    new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"keys":')) });
  const FAILURES: [string, () => Response | Promise<Response>][] = [
    ['answers 500', () => new Response('{"keys":[]}', { status: 500 })],
    ['answers nonsense', () => new Response('<html>')],
    ['answers no key set', () => Response.json({ keys: 17 })],
    ['has no key for it', () => Response.json({ keys: [{ kty: 'EC', kid: 'x' }] })],
    ['redirects', () => Response.redirect(keys.url)],
    ['answers without end', () => new Response(`{"keys":["${'x'.repeat(2_000_000)}"]}`)],
    ['never answers', () => new Promise<Response>(() => undefined)],
    [
      'falls silent amid its answer',
      () => new Response(stalling(), { headers: { 'content-type': 'application/json' } }),
    ],
  ];
  test.each(FAILURES)('that is not at hand, while its URL %s, is a 503', async (_title, behaviour) => {
    const own = await createSigner();
    using server = serveKeys(own);
    server.behave(behaviour);
    const client = await registerBot(setting, server.url);
    const answer = await client.send(hello(), await own.token());
    expectRefusal(answer, 503);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('is there when its URL is back', async () => {
    const own = await createSigner();
    using server = serveKeys(own);
    server.behave(() => new Response(null, { status: 500 }));
    const client = await registerBot(setting, server.url);
    expectRefusal(await client.send(hello(), await own.token()), 503);
    server.behave(undefined);
    await eventually('the key set to be used', async () => {
      const { status } = await client.send(hello(), await own.token());
      return status === 200;
    });
  });
});
