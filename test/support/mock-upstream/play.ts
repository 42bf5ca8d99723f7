// One answer, with the fault that was asked for.

import { constants, createGzip, gzipSync } from 'node:zlib';
import { machineNow } from '../machine-time.ts';
import type { Entry } from './ledger.ts';
import { released } from './releases.ts';
import type { Scenario } from './scenario.ts';
import type { Reply, Wire } from './wire.ts';

const UTF8 = new TextEncoder();

/** What a provider says to a wrong key; a caller of the gateway must never read it. */
export const SECRET = 'sk-upstream-secret-8f2a';

const never = (): Promise<never> => new Promise(() => {});

/** The socket is destroyed: Bun does so when the body of an answer fails. */
const destroyed = (): ReadableStream =>
  new ReadableStream({
    start(controller) {
      controller.error(new Error('destroyed, as asked'));
    },
  });

type Piece = string | Uint8Array;
type Ending = 'end' | 'hang' | 'die';

type Pace = {
  /** Between the pieces. */
  ms: number;
  /** Before the piece of this index, or the ending: what comes there comes in a packet of its own. */
  pauseAt: number | undefined;
  pause(): Promise<void>;
  ending: Ending;
  entry: Entry;
};

/** Longer than a reader needs to take what came before, on an idle machine. */
const PAUSE_MS = 30;

/** Lasts longer on a busy machine: a connection that breaks off may take with it what was not read yet. */
async function pauseShortly(ms = PAUSE_MS): Promise<void> {
  const until = machineNow() + ms;
  do await Bun.sleep(ms);
  while (machineNow() < until);
}

/** The pieces, each after its wait; then the ending. */
function pump(pieces: readonly Piece[], { ms, pauseAt, pause, ending, entry }: Pace) {
  let gone = false;
  return new ReadableStream<Uint8Array>({
    async start(controller) {
      for (const [index, piece] of pieces.entries()) {
        if (index > 0 && index === pauseAt) await pause();
        else if (index > 0 && ms > 0) await Bun.sleep(ms);
        if (gone) return;
        controller.enqueue(typeof piece === 'string' ? UTF8.encode(piece) : piece);
      }
      if (ending === 'hang') return never();
      if (pieces.length === pauseAt) await pause();
      entry.end();
      if (ending === 'die') controller.error(new Error('destroyed, as asked'));
      else if (!gone) controller.close();
    },
    cancel() {
      gone = true;
    },
  });
}

function compressed(pieces: readonly Piece[], entry: Entry): ReadableStream {
  const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH });
  return new ReadableStream({
    start(controller) {
      gzip.on('data', (bytes: Uint8Array) => controller.enqueue(new Uint8Array(bytes)));
      gzip.on('end', () => {
        entry.end();
        controller.close();
      });
      for (const piece of pieces) gzip.write(piece);
      gzip.end();
    },
    cancel() {
      gzip.removeAllListeners();
      gzip.destroy();
    },
  });
}

const shardsOf = (bytes: Uint8Array, size: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

/** The events as they go over the wire, changed as the fault wants. */
function piecesOf({ events, errorEvent }: Reply, { fault, after, raw, size }: Scenario): Piece[] {
  const line = fault === 'crlf' ? '\r\n' : '\n';
  const blocks = events.map((event) => `${event.replaceAll('\n', line)}${line}${line}`);
  const early = blocks.slice(0, after);
  if (fault === 'no-done') return blocks.slice(0, -1);
  if (fault === 'cut' || fault === 'hang-mid' || fault === 'die-mid') return early;
  if (fault === 'error-mid') return [...early, `${errorEvent}\n\n`];
  if (fault === 'bad-chunk') return [...early, 'data: {"id": not json\n\n', ...blocks.slice(after)];
  if (fault === 'crlf') return blocks.flatMap((block) => [`: comment${line}${line}`, block]);
  if (fault === 'shards') return shardsOf(UTF8.encode(blocks.join('')), size);
  if (fault === 'raw') return shardsOf(raw, size);
  return blocks;
}

const MIDWAY: readonly Scenario['fault'][] = ['die-mid', 'cut', 'error-mid', 'bad-chunk', 'held-mid'];

const ENDINGS: Partial<Record<Scenario['fault'], Ending>> = { 'hang-mid': 'hang', 'die-mid': 'die' };

/** Bodies that come with 200 and are none. */
const NONSENSE: Partial<Record<Scenario['fault'], [type: string, body: string]>> = {
  'invalid-json': ['application/json', '{"id": "chatcmpl-1", "choices": [{'],
  html: ['text/html; charset=utf-8', `<html><body><h1>502 Bad Gateway</h1>${SECRET}</body></html>`],
  empty: ['application/json', ''],
  'not-an-object': ['application/json', '["an", "array"]'],
};

type Asked = {
  scenario: Scenario;
  entry: Entry;
  wire: Wire;
  stream: boolean;
  headers: Record<string, string>;
};

/** A whole body in two halves, so that something can happen between them. */
const halvesOf = (text: string): string[] => [
  text.slice(0, Math.floor(text.length / 2)),
  text.slice(Math.floor(text.length / 2)),
];

export async function play(reply: () => Reply, asked: Asked): Promise<Response> {
  const { scenario, entry, stream, headers } = asked;
  const { fault, ms } = scenario;
  if (fault === 'hang') return never();
  if (fault === 'slow') await Bun.sleep(ms);
  if (fault === 'held') await released(scenario.key);
  const refused = refusalOf(asked);
  if (refused !== undefined) return refused;
  const nonsense = NONSENSE[fault];
  if (nonsense !== undefined) {
    entry.end();
    return new Response(nonsense[1], { headers: { ...headers, 'content-type': nonsense[0] } });
  }
  entry.headersSent();
  return stream && fault !== 'unstreamed' ? streamed(reply(), asked) : whole(reply(), asked);
}

function refusalOf({ scenario, entry, wire, headers }: Asked): Response | undefined {
  const { fault, status } = scenario;
  if (!['die', 'status', 'redirect'].includes(fault)) return undefined;
  entry.end();
  if (fault === 'die') return new Response(destroyed());
  if (fault === 'redirect')
    return new Response(null, { status: 307, headers: { ...headers, location: '/mock/stolen' } });
  const message = status === 401 || status === 403 ? `Incorrect API key: ${SECRET}` : `mock says ${status}`;
  return Response.json(wire.error(status, message), { status, headers: { ...headers, ...scenario.headers } });
}

function streamed(reply: Reply, { scenario, entry, headers }: Asked): Response {
  const pieces = piecesOf(reply, scenario);
  const { fault } = scenario;
  const type = {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  };
  if (fault === 'gzip')
    return new Response(compressed(pieces, entry), { headers: { ...type, 'content-encoding': 'gzip' } });
  const ms = fault === 'trickle' ? scenario.ms : fault === 'shards' || fault === 'raw' ? 1 : 0;
  const midway = MIDWAY.includes(fault) ? scenario.after : undefined;
  const pauseAt = scenario.dies ? pieces.length : midway;
  const ending = scenario.dies ? 'die' : (ENDINGS[fault] ?? 'end');
  const shortly = () => pauseShortly(scenario.dies ? Math.max(PAUSE_MS, scenario.ms) : PAUSE_MS);
  const pause = fault === 'held-mid' ? () => released(scenario.key) : shortly;
  const pace: Pace = { ms, pauseAt, pause, ending, entry };
  return new Response(pump(pieces, pace), { headers: type });
}

function whole(reply: Reply, { scenario, entry, headers }: Asked): Response {
  const text = JSON.stringify(reply.whole);
  const { fault } = scenario;
  const type = { ...headers, 'content-type': 'application/json' };
  const ending = ENDINGS[fault];
  if (ending !== undefined || fault === 'trickle') {
    const halves = ending === undefined ? halvesOf(text) : halvesOf(text).slice(0, 1);
    const pace = {
      ms: fault === 'trickle' ? scenario.ms : 0,
      pauseAt: 1,
      pause: () => pauseShortly(),
      entry,
    };
    return new Response(pump(halves, { ...pace, ending: ending ?? 'end' }), { headers: type });
  }
  entry.end();
  return fault === 'gzip'
    ? new Response(gzipSync(text), { headers: { ...type, 'content-encoding': 'gzip' } })
    : new Response(text, { headers: type });
}
