// The token of an event, with the key set at hand, against the runtime's own check of its signature. Rounds of both take
// turns, so that what else the machine does meets both alike.

import { createPublicKey, verify as verifyNow } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Verification } from '../../src/bots/bot.ts';
import { createKeySets } from '../../src/bots/key-sets.ts';
import { createVerify } from '../../src/bots/verify.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silentLog } from '../../test/support/database.ts';
import { printTable } from '../lib/report.ts';

const ROUNDS = 100;
const WARM_UP_ROUNDS = 10;
const CALLS = 480;
/** Few, as webhooks come; and many at once. */
const FLIGHTS = [1, 16];
const TARGET = 1.2;
const PLATFORM = 'chat@system.gserviceaccount.com';
const AUDIENCE = '123456789012';

type Verified = { flight: number; ratio: number; micros(name: keyof Round): number };

export async function measureVerification(): Promise<void> {
  const rows = (await compareVerification(ROUNDS)).map(({ flight, ratio, micros }) => [
    `${flight}`,
    micros('bare').toFixed(1),
    micros('ours').toFixed(1),
    `${ratio.toFixed(2)} ×`,
    `≤ ${TARGET} ×: ${ratio <= TARGET ? 'met' : '**missed**'}`,
    micros('synchronous').toFixed(1),
  ]);
  printTable(
    `Verifying an event's token, warm key set (µs a call, medians of ${ROUNDS} rounds of ${CALLS}; the ratio is that of the rounds)`,
    ['in flight', 'bare RS256 (crypto.subtle)', 'ours', 'ratio', 'target', 'bare, on the calling thread'],
    rows,
  );
}

export async function compareVerification(rounds: number): Promise<Verified[]> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'bench' };
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'RS256', kid: 'bench', typ: 'JWT' })
    .setIssuer(PLATFORM)
    .setAudience(AUDIENCE)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey);
  using server = serveKeySet({ keys: [jwk] });
  const verify = createVerify({
    keySets: createKeySets({ log: silentLog }),
    clock: systemClock,
    log: silentLog,
  });
  const verification: Verification = {
    mode: 'project_number',
    audience: AUDIENCE,
    jwks: server.url,
    jwks_anywhere: true,
  };
  const at = token.lastIndexOf('.');
  const signed = Buffer.from(token.slice(0, at));
  const signature = Buffer.from(token.slice(at + 1), 'base64url');
  const ours = () => verify(verification, token);
  const bare = () => crypto.subtle.verify('RSASSA-PKCS1-v1_5', publicKey, signature, signed);
  const nodeKey = createPublicKey({ key: jwk, format: 'jwk' });
  const synchronous = async () => verifyNow('RSA-SHA256', signed, nodeKey, signature);
  const compared: Verified[] = [];
  for (const flight of FLIGHTS) {
    const measured = await measure({ bare, ours, synchronous }, { flight, rounds });
    const ratio = median(measured.map((round) => round.ours / round.bare));
    compared.push({ flight, ratio, micros: (name) => median(measured.map((round) => round[name])) });
  }
  return compared;
}

/** µs a call. */
type Round = { bare: number; ours: number; synchronous: number };

async function measure(
  calls: Record<keyof Round, () => Promise<unknown>>,
  { flight, rounds }: { flight: number; rounds: number },
): Promise<Round[]> {
  const time = async (call: () => Promise<unknown>): Promise<number> => {
    const startedAt = performance.now();
    for (let made = 0; made < CALLS; made += flight)
      await (flight === 1 ? call() : Promise.all(Array.from({ length: flight }, call)));
    return ((performance.now() - startedAt) * 1000) / CALLS;
  };
  const measured: Round[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
    // Whoever comes second does so every other time.
    const early = round % 2 === 0 ? await time(calls.bare) : undefined;
    const ours = await time(calls.ours);
    const bare = early ?? (await time(calls.bare));
    measured.push({ bare, ours, synchronous: await time(calls.synchronous) });
  }
  return measured.slice(WARM_UP_ROUNDS);
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function serveKeySet(set: object): Disposable & { url: string } {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(set) });
  return { url: `http://127.0.0.1:${server.port}/`, [Symbol.dispose]: () => void server.stop(true) };
}
