// Every family at every route that takes what it is made of.

import { flood } from './connections.ts';
import { BODIES, CODED, HEADERS, QUERIES } from './families.ts';
import { membersOf, place } from './place.ts';
import type { Target } from './routes.ts';
import type { Cell } from './rule.ts';
import { type RawRequest, renderHead, send } from './wire.ts';

export type Attempt = {
  cell: Cell;
  /** Makes what is sent, which is not measured; the returned function sends it and answers the statuses that it saw. */
  prepare(): () => Promise<readonly number[]>;
};

const SMALL_BYTES = 65_536;
/** What is refused for its size alone is tried smaller, too. */
const MIDDLE_BYTES = 900_000;
/** Bytes of a hostile query, and of hostile headers: what a head may have, less what it needs. */
const HEAD_BYTES = 60_000;
/** Of bodies that stop half-way. */
const SLOW_BODIES = 50;
const SLOW_BYTES = 262_144;

/** The largest body that an operation takes, as it says itself when more is announced; undefined where it reads none. */
export async function bodyBytesMax(url: URL, target: Target): Promise<number | undefined> {
  if (target.body === undefined) return undefined;
  const headers = [
    ...target.credential,
    `content-type: ${target.body.mediaType}`,
    'content-length: 999999999999',
  ];
  const { text } = await send(url, { method: target.method, target: target.path, headers });
  const said = /larger than (\d+) bytes/.exec(text)?.[1];
  if (said === undefined) throw new Error(`${target.name} reads no body: ${text.slice(0, 300)}`);
  return Number(said);
}

export function sending(url: URL, cell: Cell, request: () => RawRequest): Attempt {
  return {
    cell,
    prepare() {
      const prepared = request();
      return async () => [(await send(url, prepared)).status];
    },
  };
}

export function* attemptsAt(url: URL, target: Target, bytesMax: number | undefined): Generator<Attempt> {
  if (bytesMax !== undefined && target.body !== undefined) {
    const taker = { url, target, body: target.body, bytesMax };
    yield* bodiesAt(taker);
    yield* codedAt(taker);
    yield* slowBodiesAt(taker);
  }
  yield* headsAt(url, target);
}

type BodyTaker = { url: URL; target: Target; body: NonNullable<Target['body']>; bytesMax: number };

const STRANGER = { group: 'without a credential', bytes: 0, largest: false } as const;

function* bodiesAt({ url, target, body, bytesMax }: BodyTaker): Generator<Attempt> {
  const { example, mediaType } = body;
  const type = `content-type: ${mediaType}`;
  const known = [...target.credential, type];
  const post = (cell: Cell, headers: readonly string[], bytes: () => Buffer): Attempt =>
    sending(url, cell, () => ({
      method: target.method,
      target: target.path + target.query,
      headers,
      body: bytes(),
    }));
  for (const family of BODIES) {
    const here = { target: target.name, group: 'bodies', family: family.name };
    const whole = { ...here, bytes: bytesMax, largest: true };
    yield post(whole, known, () => place(family, bytesMax));
    for (const member of membersOf(example)) {
      yield post(whole, known, () => place(family, bytesMax, example, member));
      for (const bytes of [MIDDLE_BYTES, SMALL_BYTES].filter((size) => size * 2 < bytesMax)) {
        const smaller = { ...here, bytes, largest: false };
        yield post(smaller, known, () => place(family, bytes, example, member));
      }
    }
    if (target.credential.length > 0)
      yield post({ ...here, ...STRANGER }, [type], () => place(family, bytesMax));
  }
}

function* codedAt({ url, target, body, bytesMax }: BodyTaker): Generator<Attempt> {
  for (const { name, encoding, make } of CODED) {
    const here = { target: target.name, group: 'compressed', family: name };
    const headers = [`content-type: ${body.mediaType}`, `content-encoding: ${encoding}`];
    const request = (credential: readonly string[]) => (): RawRequest => ({
      method: target.method,
      target: target.path + target.query,
      headers: [...credential, ...headers],
      body: make(bytesMax),
    });
    yield sending(url, { ...here, bytes: bytesMax, largest: true }, request(target.credential));
    if (target.credential.length > 0) yield sending(url, { ...here, ...STRANGER }, request([]));
  }
}

/** Bodies that are announced, begun, and not gone on with. */
function* slowBodiesAt({ url, target, body, bytesMax }: BodyTaker): Generator<Attempt> {
  const callers = [
    { credential: target.credential, cell: { group: 'slow bodies', bytes: SLOW_BODIES * SLOW_BYTES } },
    ...(target.credential.length > 0 ? [{ credential: [], cell: STRANGER }] : []),
  ];
  for (const { credential, cell } of callers) {
    const headers = [...credential, `content-type: ${body.mediaType}`, `content-length: ${bytesMax}`];
    yield {
      cell: { target: target.name, family: 'half a body', largest: false, ...cell, held: true },
      prepare() {
        const head = renderHead(url, { method: target.method, target: target.path + target.query, headers });
        const bytes = Buffer.concat([Buffer.from(head), Buffer.alloc(SLOW_BYTES, '[')]);
        return () => flood(url, { count: SLOW_BODIES, bytes: () => bytes }, async () => []);
      },
    };
  }
}

function* headsAt(url: URL, target: Target): Generator<Attempt> {
  const { method, path, credential, body } = target;
  const type = body === undefined ? [] : [`content-type: ${body.mediaType}`, 'content-length: 0'];
  const base = { target: target.name, bytes: HEAD_BYTES, largest: false };
  const before = target.query === '' ? '?' : `${target.query}&`;
  for (const { name, make } of QUERIES)
    yield sending(url, { ...base, group: 'queries', family: name }, () => ({
      method,
      target: `${path}${before}${make(target.parameters, HEAD_BYTES)}`,
      headers: [...credential, ...type],
    }));
  for (const { name, make } of HEADERS)
    yield sending(url, { ...base, group: 'headers', family: name }, () => ({
      method,
      target: path + target.query,
      headers: [...make(HEAD_BYTES), ...credential, ...type],
    }));
}
