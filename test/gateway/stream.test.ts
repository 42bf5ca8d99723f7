// One stream to the client: comments in silence, an honest end, and nothing left behind.

import { describe, expect, test } from 'bun:test';
import type { StreamAnswer } from '../../src/gateway/answer.ts';
import { type EventBlock, readBlocks, toBlock } from '../../src/gateway/events.ts';
import { TIMEOUT_DEFAULTS_MS } from '../../src/gateway/limits.ts';
import type { Ended } from '../../src/gateway/model-call.ts';
import { toClientStream } from '../../src/gateway/stream.ts';
import { TimeOuts } from '../../src/gateway/time-outs.ts';

const chunk = (delta: object, rest: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: null }], ...rest })}\n\n`;
const FINISH = 'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const USAGE = 'data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n';
const DONE = 'data: [DONE]\n\n';

/** An upstream under the test's hands. */
function upstream() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  return {
    blocks: readBlocks(body),
    say: (text: string) => controller?.enqueue(Buffer.from(text)),
    close: () => controller?.close(),
    die: () => controller?.error(new Error('died')),
  };
}

type Settled = 'ok' | 'failed' | 'left';

function relayed(
  blocks: AsyncGenerator<EventBlock, undefined>,
  options: {
    first?: string | undefined;
    hidesUsage?: boolean;
    endsPlainly?: boolean;
    keepAliveMs?: number;
    signal?: AbortSignal;
  } = {},
) {
  const ends: Ended[] = [];
  const settled: Settled[] = [];
  const { first } = options;
  const timeOuts = new TimeOuts(TIMEOUT_DEFAULTS_MS, true, () => false);
  const answer: StreamAnswer = {
    kind: 'stream',
    headers: {},
    blocks,
    first: first === undefined ? undefined : toBlock(Buffer.from(first)),
    timeOuts,
    end: (outcome) => void settled.push(outcome),
  };
  const { body } = toClientStream({
    answer,
    spec: undefined,
    startedAtMs: performance.now(),
    hidesUsage: options.hidesUsage ?? false,
    endsPlainly: options.endsPlainly ?? false,
    choices: 1,
    keepAliveMs: options.keepAliveMs ?? 15_000,
    signal: options.signal ?? new AbortController().signal,
    shutdown: new AbortController().signal,
    async onEnd(end) {
      ends.push(end);
    },
  });
  return { body, ends, settled, timeOuts };
}

const textOf = (body: ReadableStream<Uint8Array>): Promise<string> => new Response(body).text();

const TOLD = { promptTokens: 3, completionTokens: 4, estimated: false };

test('what comes goes on byte for byte, and is counted once', async () => {
  const { blocks, say, close } = upstream();
  const { body, ends, settled } = relayed(blocks, { first: chunk({ content: 'a' }) });
  say(chunk({ content: 'b' }));
  say(FINISH + USAGE + DONE);
  close();
  expect(await textOf(body)).toBe(chunk({ content: 'a' }) + chunk({ content: 'b' }) + FINISH + USAGE + DONE);
  expect(ends).toMatchObject([{ outcome: 'ok', usage: TOLD }]);
  expect(settled).toEqual(['ok']);
});

test('usage that we asked for is not shown; beside choices it stays', async () => {
  const both = chunk({ content: 'b' }, { usage: { prompt_tokens: 1, completion_tokens: 1 } });
  const { blocks, say, close } = upstream();
  const { body, ends } = relayed(blocks, { first: chunk({ content: 'a' }), hidesUsage: true });
  say(both + FINISH + USAGE + DONE);
  close();
  expect(await textOf(body)).toBe(chunk({ content: 'a' }) + both + FINISH + DONE);
  expect(ends).toMatchObject([{ usage: TOLD }]);
});

describe('while the upstream is silent', () => {
  test('comments come, before the first event and between events only', async () => {
    const { blocks, say, close } = upstream();
    const { body } = relayed(blocks, { keepAliveMs: 15 });
    const reader = body.getReader();
    let seen = '';
    const read = async (): Promise<void> => {
      const { value } = await reader.read();
      seen += Buffer.from(value ?? []).toString();
    };
    while (seen.split(': keep-alive\n\n').length < 4) await read();
    say('data: {"id":"c","cho');
    const before = seen.length;
    while (seen.length < before + 2) await read();
    say('ices":[]}\n\n');
    while (!seen.includes('data:')) await read();
    say(FINISH + DONE);
    close();
    while (!seen.includes('[DONE]')) await read();
    const events = seen.split('\n\n').filter((each) => each !== '');
    expect(events.filter((each) => each !== ': keep-alive')).toEqual([
      'data: {"id":"c","choices":[]}',
      FINISH.trim(),
      DONE.trim(),
    ]);
  });

  test('none comes where events do', async () => {
    const { blocks, say, close } = upstream();
    const { body } = relayed(blocks, { first: chunk({}) });
    say(FINISH + DONE);
    close();
    expect(await textOf(body)).not.toContain(': keep-alive');
  });
});

describe('the end is told as it was', () => {
  const errorOf = (text: string): { code: string } => {
    const last = text.split('\n\n').at(-2) ?? '';
    return (JSON.parse(last.slice(6)) as { error: { code: string } }).error;
  };

  test('death in the middle is an error, without [DONE]', async () => {
    const { blocks, say, die } = upstream();
    const { body, ends, settled } = relayed(blocks, { first: chunk({ content: 'a' }) });
    const text = textOf(body);
    say(chunk({ content: 'b' }));
    await Bun.sleep(5);
    die();
    expect(await text).not.toContain('[DONE]');
    expect(errorOf(await text).code).toBe('upstream_broke_off');
    expect([ends.map(({ outcome }) => outcome), settled]).toEqual([['failed'], ['failed']]);
    expect(ends).toMatchObject([{ usage: undefined, tokens: 2 }]);
  });

  test('a clean end in the middle is an error, too', async () => {
    const { blocks, close } = upstream();
    const { body } = relayed(blocks, { first: chunk({ content: 'a' }) });
    close();
    expect(errorOf(await textOf(body)).code).toBe('upstream_broke_off');
  });

  test('a finish reason counts for four blocks: what goes on after it has not finished', async () => {
    for (const [further, outcome] of [
      [3, 'ok'],
      [4, 'failed'],
    ] as const) {
      const { blocks, say, close } = upstream();
      const { body, ends } = relayed(blocks, { first: FINISH });
      for (let block = 0; block < further; block++) say(chunk({ content: 'more' }));
      close();
      expect((await textOf(body)).endsWith(DONE)).toBe(outcome === 'ok');
      expect(ends).toMatchObject([{ outcome }]);
    }
  });

  test('a finished answer without [DONE] gets it', async () => {
    const { blocks, say, close } = upstream();
    const { body, ends } = relayed(blocks, { first: chunk({ content: 'a' }) });
    say(FINISH);
    close();
    expect(await textOf(body)).toEndWith(FINISH + DONE);
    expect(ends[0]?.outcome).toBe('ok');
  });

  test('what follows [DONE] is no second end', async () => {
    for (const dies of [false, true]) {
      const { blocks, say, close, die } = upstream();
      const { body, ends } = relayed(blocks, { first: chunk({ content: 'a' }) });
      const text = textOf(body);
      say(`${FINISH}${DONE}: bye\n\n`);
      await Bun.sleep(5);
      if (dies) die();
      else close();
      expect(await text).toBe(`${chunk({ content: 'a' })}${FINISH}${DONE}: bye\n\n`);
      expect(ends[0]?.outcome).toBe('ok');
    }
  });

  test('a time-out says which one it was, also while nothing is read', async () => {
    const { blocks } = upstream();
    const { body, settled, timeOuts } = relayed(blocks, { first: chunk({ content: 'a' }) });
    timeOuts.expire('idle');
    expect(settled).toEqual(['failed']);
    expect(errorOf(await textOf(body)).code).toBe('upstream_idle_timeout');
  });

  test('an error of the upstream goes on after what came before it, and ends the stream', async () => {
    const { blocks, say } = upstream();
    const { body, settled } = relayed(blocks, { first: chunk({ content: 'a' }) });
    say(`${chunk({ content: 'b' })}data: {"error":{"message":"overloaded","code":"busy"}}\n\n${DONE}`);
    const text = await textOf(body);
    expect(text).toStartWith(chunk({ content: 'a' }) + chunk({ content: 'b' }));
    expect(errorOf(text)).toMatchObject({ message: 'overloaded', code: 'busy', type: 'upstream_error' });
    expect(text).not.toContain('[DONE]');
    expect(settled).toEqual(['failed']);
  });

  test('an image’s stream ends without a mark', async () => {
    const { blocks, close } = upstream();
    const { body, ends } = relayed(blocks, { first: 'event: done\ndata: {}\n\n', endsPlainly: true });
    close();
    expect(await textOf(body)).toBe('event: done\ndata: {}\n\n');
    expect(ends[0]?.outcome).toBe('ok');
  });

  for (const [name, first] of Object.entries({
    'its first block': chunk({ content: 'a' }) + FINISH + USAGE + DONE,
    'its first block, as CRLF': (chunk({ content: 'a' }) + FINISH + USAGE + DONE).replaceAll('\n', '\r\n'),
  })) {
    test(`an answer that is whole in ${name} ends there`, async () => {
      const { blocks } = upstream();
      const { body, ends } = relayed(blocks, { first });
      expect(await textOf(body)).toBe(first);
      expect(ends).toMatchObject([{ outcome: 'ok', usage: TOLD }]);
    });
  }
});

describe('a client that leaves', () => {
  test('cancels the upstream, and is counted once with what it got', async () => {
    const { blocks, say } = upstream();
    const { body, ends, settled } = relayed(blocks, { first: chunk({ content: 'a' }) });
    const reader = body.getReader();
    await reader.read();
    say(chunk({ content: 'b' }));
    await reader.read();
    await reader.cancel();
    expect([ends.map(({ outcome }) => outcome), settled]).toEqual([['cancelled'], ['left']]);
    expect(ends).toMatchObject([{ usage: undefined, tokens: 2 }]);
  });

  test('by its signal, too, also while nothing is read', async () => {
    const leaving = new AbortController();
    const { blocks } = upstream();
    const { body, ends, settled } = relayed(blocks, { first: chunk({}), signal: leaving.signal });
    const reader = body.getReader();
    await reader.read();
    const pending = reader.read();
    leaving.abort();
    // Whoever reads within the process goes by this.
    expect((await pending).done).toBe(true);
    expect([ends.map(({ outcome }) => outcome), settled]).toEqual([['cancelled'], ['left']]);
  });

  test('before the stream began is noticed', async () => {
    const { blocks } = upstream();
    const { settled } = relayed(blocks, { signal: AbortSignal.abort() });
    expect(settled).toEqual(['left']);
  });
});
