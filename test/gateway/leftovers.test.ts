// However a request ends, nothing of it stays: no place, no listener, no request that runs, nothing reserved.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.ts';
import { unavailable } from '../../src/core/errors.ts';
import { UsageRecords } from '../../src/gateway/accounting/usage-records.ts';
import { AttemptLog } from '../../src/gateway/attempt-log.ts';
import { Attempts } from '../../src/gateway/attempts.ts';
import { AnswerCache } from '../../src/gateway/cache.ts';
import { CatalogueKeeper } from '../../src/gateway/catalogue/current.ts';
import type { ChatPart } from '../../src/gateway/chat-call.ts';
import { createStreamChat } from '../../src/gateway/conversation.ts';
import type { Served } from '../../src/gateway/model-call.ts';
import { readRequest } from '../../src/gateway/request.ts';
import { ModelService, type ServeDeps } from '../../src/gateway/serve.ts';
import { Targets } from '../../src/gateway/targets.ts';
import { eventually } from '../support/child.ts';
import { silentLog } from '../support/database.ts';
import { machineNow } from '../support/machine-time.ts';
import { startMockUpstream } from '../support/mock-upstream.ts';
import { shared } from '../support/shared.ts';

const FAULTS = [
  'ok',
  'die',
  'die-mid',
  'hang',
  'hang-mid',
  'status-400',
  'status-401',
  'status-429',
  'status-500',
  'redirect',
  'html',
  'empty',
  'invalid-json',
  'cut',
  'no-done',
  'error-mid',
  'bad-chunk',
  'gzip',
  'shards',
  'crlf',
  'unstreamed',
  'big+mb=1',
  'trickle+ms=20+words=100',
  'slow+ms=100',
];

const mock = await shared(startMockUpstream());
const folder = mkdtempSync(join(tmpdir(), 'atrium-leftovers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Counts who listens. */
function listened(): { controller: AbortController; signal: AbortSignal; listeners: () => number } {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  const known = new Set<unknown>();
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    known.add(given[1]);
    listeners = known.size;
    add(...given);
  };
  signal.removeEventListener = (...given: Parameters<typeof remove>) => {
    known.delete(given[1]);
    listeners = known.size;
    remove(...given);
  };
  return { controller, signal, listeners: () => listeners };
}

/** What each call reserves of them has to be settled. */
const LIMITS = { requests_per_minute: 1 };

/** Longer than any pause of a busy machine. */
const PATIENT_MS = 60_000;
const IMPATIENT_MS = 700;

function setting({
  keepAliveMs = 15_000,
  url = mock.url,
  silenceMs = IMPATIENT_MS,
  totalMs = 120_000,
  readerMs = 120_000,
} = {}) {
  const timeout_ms = { first_byte: silenceMs, idle: silenceMs, total: totalMs, reader: readerMs };
  const targets = new Targets();
  const path = join(folder, `${crypto.randomUUID()}.json`);
  const file = {
    upstreams: {
      mock: { base_url: `${url}/v1`, retries: 1, timeout_ms, concurrency: { max: 4, queue: 100 } },
    },
    models: Object.fromEntries([
      ...FAULTS.map((fault) => [fault, { targets: [{ upstream: 'mock', model: fault }] }]),
      ['echo', { targets: [{ model: 'local-echo' }] }],
    ]),
  };
  writeFileSync(path, JSON.stringify(file));
  const catalogue = new CatalogueKeeper({
    source: { kind: 'file', path, variable: () => undefined },
    targets,
    log: silentLog,
  });
  const shutdown = new AbortController();
  let accounts = 0;
  const outcomes: string[] = [];
  const reserved = new Set<object>();
  const service = new ModelService({
    catalogue,
    cache: new AnswerCache(),
    keepAliveMs,
    shutdown: shutdown.signal,
    firstToken: { observe: () => undefined },
    allowances: {
      reserve: async () => {
        const reservation = { headers: () => ({}), settle: () => void reserved.delete(reservation) };
        reserved.add(reservation);
        return reservation;
      },
    },
    attempts: new Attempts({
      keepAliveMs,
      connectsDirectly: true,
      log: new AttemptLog(silentLog),
      embed: async (texts) => new Float32Array(texts.length * 384),
      random: () => 0,
    }),
    records: new UsageRecords({
      async record(events) {
        accounts += events.length;
        for (const { data } of events) outcomes.push(String(data['outcome']));
      },
      clock: systemClock,
      log: silentLog,
    }),
  } as unknown as ServeDeps);
  const begin = async (model: string, stream: boolean, signal: AbortSignal): Promise<Served> => {
    const body = { model, stream, messages: [{ role: 'user', content: 'hello' }] };
    return service.serve({
      endpoint: 'chat',
      headers: {},
      atMostOnce: false,
      continues: false,
      signal,
      request: await readRequest(Buffer.from(JSON.stringify(body))),
      caller: { workspaceId: 'w', email: '', keyId: 'k', limits: LIMITS },
    });
  };
  return {
    accounts: () => accounts,
    outcomes,
    shutdown,
    streamChat: createStreamChat({ service, catalogue }),
    /** Whether nothing is left. */
    async rests(): Promise<void> {
      await eventually('what was reserved to be settled', () => reserved.size === 0);
      for (const { running, upstream } of targets.all()) {
        expect(running).toBe(0);
        expect(upstream?.permits.metrics() ?? { running: 0, waiting: 0 }).toEqual({ running: 0, waiting: 0 });
      }
    },
    begin,
    async ask(model: string, stream: boolean, signal: AbortSignal): Promise<string> {
      const served = await begin(model, stream, signal);
      return new Response(served.kind === 'stream' ? served.body : served.bytes.slice()).text();
    },
  };
}

for (const fault of FAULTS) {
  test(`${fault}: whole and streamed, with clients that stay and that leave`, async () => {
    const { ask, rests, accounts } = setting();
    const all = [true, false].flatMap((stream) =>
      [undefined, 0, 5, 60, 300].map(async (leavesAfterMs) => {
        const { controller, signal, listeners } = listened();
        const timer =
          leavesAfterMs === undefined ? undefined : setTimeout(() => controller.abort(), leavesAfterMs);
        await ask(fault, stream, signal).catch(() => undefined);
        clearTimeout(timer);
        return listeners;
      }),
    );
    const listeners = await Promise.all(all);
    await rests();
    // `once` takes those away that were called.
    expect(listeners.map((count) => count())[0]).toBe(0);
    expect(listeners.map((count) => count())[5]).toBe(0);
    expect(accounts()).toBe(10);
  });
}

test('a client that reads nothing, and stays, holds nothing for longer than the total time-out', async () => {
  const { begin, rests, accounts } = setting({ totalMs: 1000, silenceMs: PATIENT_MS });
  const served = await begin('trickle+ms=20+words=100', true, new AbortController().signal);
  if (served.kind !== 'stream') throw new Error('it is no stream');
  await rests();
  expect(accounts()).toBe(1);
});

test('a client that reads nothing releases its upstream when the time of readers is over', async () => {
  const { begin, rests, outcomes } = setting({ readerMs: 500, silenceMs: PATIENT_MS });
  const served = await begin('trickle+ms=20+words=100', true, new AbortController().signal);
  if (served.kind !== 'stream') throw new Error('it is no stream');
  await rests();
  expect(outcomes).toEqual(['cancelled']);
});

test('a client that reads a little now and then keeps its upstream waiting no longer than that in all', async () => {
  const { begin, rests, outcomes } = setting({ readerMs: 500, silenceMs: PATIENT_MS });
  const served = await begin('trickle+ms=20+words=100', true, new AbortController().signal);
  if (served.kind !== 'stream') throw new Error('it is no stream');
  let [text, reads] = ['', 0];
  for await (const block of served.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(block).toString();
    reads += 1;
    await Bun.sleep(100);
  }
  expect(reads).toBeLessThan(20);
  expect(text).toContain('The caller has read too slowly');
  expect(text).not.toContain('[DONE]');
  await rests();
  expect(outcomes).toEqual(['cancelled']);
});

describe('a conversation within the process', () => {
  const caller = { workspaceId: 'w', email: '', limits: LIMITS };
  const messages = [{ role: 'user', content: 'one two three' }] as const;

  async function partsOf(parts: AsyncIterable<ChatPart>): Promise<ChatPart[]> {
    const all: ChatPart[] = [];
    for await (const part of parts) all.push(part);
    return all;
  }

  test('is told in deltas, and ends once, with its usage', async () => {
    const { streamChat, rests } = setting({ silenceMs: PATIENT_MS });
    for (const model of ['ok', 'echo', 'crlf', 'shards', 'unstreamed', 'no-done', 'gzip']) {
      const parts = await partsOf(
        streamChat({ caller, model, messages, signal: new AbortController().signal }),
      );
      const ends = parts.filter(({ type }) => type === 'end');
      expect([model, ends.length, parts.at(-1)?.type]).toEqual([model, 1, 'end']);
      expect(parts.length).toBeGreaterThan(1);
      const end = parts.at(-1);
      if (end?.type === 'end') expect(end.usage.promptTokens + end.usage.completionTokens).toBeGreaterThan(0);
    }
    await rests();
  });

  const failures: [model: string, kind: string][] = [
    ['nobody', 'not-found'],
    ['status-429', 'too-many-requests'],
    ['status-500', 'upstream-failed'],
    ['die', 'upstream-failed'],
    ['die-mid', 'upstream-failed'],
    ['cut', 'upstream-failed'],
    ['error-mid', 'upstream-failed'],
    ['bad-chunk', 'upstream-failed'],
    ['hang', 'upstream-timeout'],
    ['hang-mid', 'upstream-timeout'],
  ];
  for (const [model, kind] of failures)
    test(`fails as ${kind}: ${model}`, async () => {
      const silenceMs = kind === 'upstream-timeout' ? IMPATIENT_MS : PATIENT_MS;
      const { streamChat, rests } = setting({ silenceMs });
      const parts = partsOf(streamChat({ caller, model, messages, signal: new AbortController().signal }));
      await expect(parts).rejects.toMatchObject({ kind });
      await rests();
    });

  test('that is cancelled ends at once, with the signal’s reason, and cancels the model', async () => {
    for (const model of ['trickle+ms=20+words=100', 'hang', 'hang-mid', 'ok']) {
      // By itself it would end later, for another reason.
      const { streamChat, rests } = setting({ silenceMs: PATIENT_MS });
      const leaving = new AbortController();
      const reason = new Error('left');
      setTimeout(() => leaving.abort(reason), model === 'ok' ? 0 : 150);
      const parts = partsOf(streamChat({ caller, model, messages, signal: leaving.signal }));
      if (model === 'ok') await parts.catch(() => undefined);
      else await expect(parts).rejects.toBe(reason);
      await rests();
    }
  });

  test('that is not heard to its end cancels the model', async () => {
    const { streamChat, rests, accounts } = setting({ silenceMs: PATIENT_MS });
    const model = 'trickle+ms=20+words=100';
    for await (const part of streamChat({ caller, model, messages, signal: new AbortController().signal }))
      if (part.type === 'delta') break;
    await rests();
    expect(accounts()).toBe(1);
  });

  describe('with a built-in model', () => {
    /** Longer than one block of its stream. */
    const LONG = [{ role: 'user', content: 'word '.repeat(2000) }] as const;

    test('is told in its tokens', async () => {
      const { streamChat, rests, outcomes } = setting();
      const { signal, listeners } = listened();
      const parts = await partsOf(streamChat({ caller, model: 'echo', messages, signal }));
      const usage = { promptTokens: 3, completionTokens: 4, estimated: false };
      expect(parts).toEqual([
        { type: 'delta', text: 'Echo: ' },
        { type: 'delta', text: 'one ' },
        { type: 'delta', text: 'two ' },
        { type: 'delta', text: 'three' },
        { type: 'end', model: 'local-echo', finishReason: 'stop', usage },
      ]);
      expect(outcomes).toEqual(['ok']);
      expect(listeners()).toBe(0);
      await rests();
    });

    test('that is not heard to its end is accounted for', async () => {
      const { streamChat, rests, outcomes } = setting();
      const { signal, listeners } = listened();
      for await (const _ of streamChat({ caller, model: 'echo', messages: LONG, signal })) break;
      expect(outcomes).toEqual(['cancelled']);
      expect(listeners()).toBe(0);
      await rests();
    });

    test('that is cancelled is accounted for at once, and ends with the signal’s reason', async () => {
      const { streamChat, rests, outcomes } = setting();
      const leaving = new AbortController();
      const reason = new Error('left');
      const hearing = (async () => {
        for await (const _ of streamChat({ caller, model: 'echo', messages: LONG, signal: leaving.signal }))
          leaving.abort(reason);
      })();
      await expect(hearing).rejects.toBe(reason);
      expect(outcomes).toEqual(['cancelled']);
      await rests();
    });

    test('ends with the service', async () => {
      const { streamChat, rests, outcomes, shutdown } = setting();
      const hearing = (async () => {
        for await (const _ of streamChat({
          caller,
          model: 'echo',
          messages: LONG,
          signal: new AbortController().signal,
        }))
          shutdown.abort(unavailable('The service is shutting down'));
      })();
      await expect(hearing).rejects.toMatchObject({
        kind: 'upstream-failed',
        message: 'The service is shutting down',
      });
      expect(outcomes).toEqual(['cancelled']);
      await rests();
    });
  });
});

/** How long the queue is, and how long an upstream may say nothing; it comments every 50 ms. */
const QUEUED_MS = 3000;
const SILENCE_MS = 1500;

test('an upstream that makes comments while its queue is long is waited for', async () => {
  const upstream = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: () => {
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          for (const until = machineNow() + QUEUED_MS; machineNow() < until; ) {
            controller.enqueue(Buffer.from(': queued\n\n'));
            await Bun.sleep(50);
          }
          controller.enqueue(Buffer.from('data: {"choices":[]}\n\ndata: [DONE]\n\n'));
          controller.close();
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    },
  });
  try {
    // The client hears of it before the first event, and again and again.
    const url = `http://127.0.0.1:${upstream.port}`;
    const { ask, rests } = setting({ keepAliveMs: 600, url, silenceMs: SILENCE_MS });
    const text = await ask('ok', true, new AbortController().signal);
    expect(text).toStartWith(': keep-alive\n\n');
    expect(text).toEndWith('data: {"choices":[]}\n\ndata: [DONE]\n\n');
    await rests();
  } finally {
    await upstream.stop(true);
  }
});
