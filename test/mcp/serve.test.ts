// One request of the MCP server with tools made for the test: long calls, failures, and how much runs at once.

import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { unavailable, upstreamFailed } from '../../src/core/errors.ts';
import type { Principal } from '../../src/core/principal.ts';
import { BATCH_ANSWER_BYTES_MAX, CALLS_AT_ONCE_MAX } from '../../src/mcp/limits.ts';
import { createToolCounts } from '../../src/mcp/metrics.ts';
import { type ServeDeps, serveMcp } from '../../src/mcp/server.ts';
import { type ToolAnswer, tool } from '../../src/mcp/tool.ts';
import { HEADERS, message, messagesOf, modernMessage } from '../acceptance/support/mcp.ts';

const PRINCIPAL: Principal = {
  keyId: 'k',
  workspaceId: 'w',
  userId: 'u',
  email: 'a@example.com',
  scopes: new Set(['chat']),
  limits: {},
};

/** Serves one tool, `work`, whose calls run the function. */
function serving(work: (signal: AbortSignal) => Promise<ToolAnswer>) {
  const errors: object[] = [];
  const warnings: object[] = [];
  const ignore = (): void => undefined;
  const counts = createToolCounts();
  const spec = {
    title: 'Work',
    description: 'Works.',
    scope: 'chat',
    isLong: true,
    readOnly: false,
  } as const;
  const made = tool(
    { ...spec, name: 'work', input: Type.Object({}), output: Type.Object({}) },
    (_call, { signal }) => work(signal),
  );
  const deps: ServeDeps = {
    call: async () => undefined,
    tools: [made],
    version: '1',
    counts,
    progressMs: 5,
    log: {
      debug: ignore,
      info: ignore,
      warn: (fields) => warnings.push(fields),
      error: (fields) => errors.push(fields),
    },
  };
  const send = (sent: { body: unknown; headers?: Record<string, string> }, signal?: AbortSignal) =>
    serveMcp(deps, {
      request: new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { ...HEADERS, ...sent.headers },
        body: '{}',
        ...(signal === undefined ? {} : { signal }),
      }),
      body: sent.body,
      isLong: true,
      principal: PRINCIPAL,
      requestId: 'r',
    });
  const outcomes = (): string[] =>
    (counts.metrics[0]?.family().series ?? []).map(
      ([key, value]) => `${/outcome="([\w-]+)"/.exec(key)?.[1]} ${value}`,
    );
  return { send, errors, warnings, outcomes };
}

const ANSWER: ToolAnswer = { structured: {}, text: 'done' };
const CALL = { name: 'work', arguments: {}, _meta: { progressToken: 'p' } };

test.each([
  ['2026-07-28', modernMessage('tools/call', CALL, { name: 'work' })],
  ['2025-11-25', { body: message('tools/call', CALL) }],
])(
  'a long call is a stream that tells its progress to a client of the revision %s',
  async (_revision, sent) => {
    const released = Promise.withResolvers<ToolAnswer>();
    const { send, outcomes } = serving(() => released.promise);
    const response = await send(sent);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    const decoder = new TextDecoder();
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      text += decoder.decode(chunk.value, { stream: true });
      if (text.includes('"progress":2')) released.resolve(ANSWER);
    }
    const messages = messagesOf(text) as { method?: string; result?: object }[];
    expect(messages[0]).toMatchObject({
      method: 'notifications/progress',
      params: { progressToken: 'p', progress: 1 },
    });
    expect(messages.at(-1)?.result).toMatchObject({ content: [{ type: 'text', text: 'done' }] });
    expect(outcomes()).toEqual(['answered 1']);
  },
);

test('what fails is a sentence for the client, and its cause is in the log', async () => {
  const failures = [
    new TypeError('a secret of ours'),
    unavailable('The store is away'),
    upstreamFailed('No model'),
  ];
  const { send, errors, warnings, outcomes } = serving(async () => {
    throw failures.shift() ?? new Error('no more');
  });
  const said: unknown[] = [];
  for (let count = 0; count < 3; count++) {
    const [answer] = messagesOf(await (await send({ body: message('tools/call', { name: 'work' }) })).text());
    said.push(answer?.result);
  }
  const failed = (text: string) => ({ isError: true, content: [{ type: 'text', text }] });
  expect(said).toEqual([failed('Internal Server Error'), failed('The store is away'), failed('No model')]);
  expect(errors).toMatchObject([{ request_id: 'r', mcp: 'work', err: expect.any(TypeError) }]);
  expect(warnings.length).toBe(2);
  expect(outcomes()).toEqual(['failed 3']);
});

test('of a batch four calls run at once, and all are answered', async () => {
  let running = 0;
  let most = 0;
  const { send } = serving(async () => {
    running += 1;
    most = Math.max(most, running);
    await Bun.sleep(1);
    running -= 1;
    return ANSWER;
  });
  const batch = Array.from({ length: 100 }, (_, id) => message('tools/call', { name: 'work' }, id));
  const answers = messagesOf(await (await send({ body: batch })).text());
  expect(answers.length).toBe(100);
  expect(most).toBe(4);
});

test('of a batch whose answers have become large, the calls that waited are refused and never begin', async () => {
  const answer: ToolAnswer = { structured: {}, text: 'x'.repeat(100_000) };
  let begun = 0;
  const { send, outcomes } = serving(async () => {
    begun += 1;
    return answer;
  });
  const batch = Array.from({ length: 100 }, (_, id) => message('tools/call', { name: 'work' }, id));
  const text = await (await send({ body: batch })).text();
  const results = messagesOf(text).map(({ result }) => result as { isError?: true; content: unknown });
  const refused = results.filter(({ isError }) => isError === true);
  expect(results.length).toBe(100);
  expect(begun).toBe(100 - refused.length);
  // Those that run at the same time end after the limit was reached.
  const least = Math.ceil(BATCH_ANSWER_BYTES_MAX / 100_100);
  expect(begun).toBeWithin(least, least + CALLS_AT_ONCE_MAX);
  const sentence = `The answers of this batch have reached ${BATCH_ANSWER_BYTES_MAX} bytes: send what it lacks in further requests`;
  for (const { content } of refused) expect(content).toEqual([{ type: 'text', text: sentence }]);
  expect(outcomes().sort()).toEqual([`answered ${begun}`, `refused ${refused.length}`]);
  // A request of its own is answered, however large.
  const [alone] = messagesOf(await (await send({ body: message('tools/call', { name: 'work' }) })).text());
  expect(alone?.result).toMatchObject({ content: [{ type: 'text', text: answer.text }] });
});

test('of a batch whose client has left, the calls that waited never begin', async () => {
  const release = Promise.withResolvers<ToolAnswer>();
  const full = Promise.withResolvers<void>();
  let begun = 0;
  const { send, outcomes } = serving(() => {
    begun += 1;
    if (begun === 4) full.resolve();
    return release.promise;
  });
  const leaving = new AbortController();
  const batch = Array.from({ length: 50 }, (_, id) => message('tools/call', { name: 'work' }, id));
  const response = await send({ body: batch }, leaving.signal);
  await full.promise;
  leaving.abort();
  await response.text().catch(() => undefined);
  release.resolve(ANSWER);
  while (outcomes()[0] !== 'cancelled 50') await Bun.sleep(1);
  await Bun.sleep(1);
  expect(begun).toBe(4);
});

test('a client that leaves has its call aborted', async () => {
  const begun = Promise.withResolvers<AbortSignal>();
  const { send, outcomes } = serving((signal) => {
    begun.resolve(signal);
    return new Promise(() => undefined);
  });
  const leaving = new AbortController();
  const response = await send(
    modernMessage('tools/call', { name: 'work' }, { name: 'work' }),
    leaving.signal,
  );
  const signal = await begun.promise;
  leaving.abort();
  await response.text().catch(() => undefined);
  expect(signal.aborted).toBe(true);
  while (outcomes().length === 0) await Bun.sleep(1);
  expect(outcomes()).toEqual(['cancelled 1']);
});
