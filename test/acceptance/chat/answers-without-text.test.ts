// What is an answer of a model, and what is a failure with its reason: refusals and text parts are answers; reasoning alone, calls
// of tools and withheld contents are none.

import { describe, expect, test } from 'bun:test';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createChatClient, eventsOf, freshId } from '../../support/chat-client.ts';
import { shared } from '../../support/shared.ts';
import { bodyOf } from '../support/caller.ts';
import { startSetting } from '../support/setting.ts';

type Delta = Record<string, unknown>;
type Said = { deltas: readonly Delta[]; finish: string };

/** An upstream that says what is written for the question. */
const written = new Map<string, Said>();
const upstream = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { messages } = (await request.json()) as { messages: { content: string }[] };
    const { deltas = [], finish = 'stop' } = written.get(messages.at(-1)?.content ?? '') ?? {};
    const chunk = (choice: object) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, ...choice }] })}\n\n`;
    const events = [
      ...deltas.map((delta) => chunk({ delta, finish_reason: null })),
      chunk({ delta: {}, finish_reason: finish }),
      'data: [DONE]\n\n',
    ];
    return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } });
  },
});
const modelsFile = join(mkdtempSync(join(tmpdir(), 'atrium-models-')), 'models.yaml');
writeFileSync(
  modelsFile,
  JSON.stringify({
    upstreams: { main: { base_url: `http://127.0.0.1:${upstream.port}/v1`, retries: 0 } },
    models: { m: { targets: [{ upstream: 'main', model: 'm' }] } },
  }),
);
const setting = await shared(startSetting({ MODELS_CONFIG: modelsFile }));
await shared({ [Symbol.asyncDispose]: () => upstream.stop(true) });
const chat = createChatClient(setting.call, { workspace: setting.workspace, key: setting.adminKey });

const write = (deltas: readonly Delta[], finish = 'stop'): string => {
  const question = freshId();
  written.set(question, { deltas, finish });
  return question;
};

describe('an answer', () => {
  const ANSWERS: [string, Delta[], string][] = [
    ['a refusal', [{ refusal: 'I cannot ' }, { refusal: 'help.' }], 'I cannot help.'],
    [
      'text parts, without reasoning',
      [
        { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] },
        {
          content: [
            { type: 'text', text: 'Nine ' },
            { type: 'text', text: 'to ' },
          ],
        },
        {
          content: [
            { type: 'text', text: 'five.' },
            { type: 'reference', reference_ids: [1] },
          ],
        },
      ],
      'Nine to five.',
    ],
    [
      'a part that is a refusal, or a plain text',
      [{ content: [{ type: 'refusal', refusal: 'No' }, ', never.'] }],
      'No, never.',
    ],
    ['text beside a tool', [{ content: 'Yes.', tool_calls: [{ index: 0, id: 'c' }] }], 'Yes.'],
  ];
  test.each(ANSWERS)('is %s', async (_kind, deltas, answer) => {
    const { name, chat_session_id: id } = await chat.newSession();
    expect(await chat.ask(name, write(deltas))).toMatchObject({ answer, error_msg: null });
    expect((await chat.transcript(id)).at(-1)).toMatchObject({ message: answer, error_msg: null });
    const streamed = eventsOf((await chat.send(name, write(deltas), { stream: true })).text);
    expect(streamed.flatMap(({ type, text }) => (type === 'delta' ? [text] : [])).join('')).toBe(answer);
  });
});

describe('a failure', () => {
  const FAILURES: [string, Delta[], string, RegExp][] = [
    ['reasoning alone', [{ reasoning_content: 'hm' }], 'stop', /reasoning, but no answer/],
    ['reasoning as a part', [{ content: [{ type: 'thinking', thinking: [] }] }], 'stop', /reasoning, but no/],
    ['reasoning up to the limit', [{ reasoning: 'hm' }], 'length', /token limit/],
    ['a content filter', [{ content: '' }], 'content_filter', /content filter/],
    ['a call of a tool', [{ content: null, tool_calls: [{ index: 0, id: 'c' }] }], 'tool_calls', /tool/],
    ['a function', [{ function_call: { name: 'f' } }], 'stop', /tool/],
    ['nothing', [], 'stop', /empty answer/],
    ['blanks', [{ content: ' \n' }], 'stop', /empty answer/],
    ['values that are no text', [{ content: 5, refusal: {} }, { content: [null, 7, {}] }], 'stop', /answer/],
  ];
  test.each(FAILURES)('is %s', async (_kind, deltas, finish, reason) => {
    const { name, chat_session_id: id } = await chat.newSession();
    const question = write(deltas, finish);
    const { detail } = bodyOf<{ detail: string }>(await chat.send(name, question, { id: 'q' }), 502);
    expect(detail).toMatch(reason);
    expect((await chat.transcript(id)).at(-1)).toMatchObject({ message: '', error_msg: detail });
    const events = eventsOf((await chat.send(name, question, { id: 'q', stream: true })).text);
    expect(events.at(-1)).toEqual({ type: 'error', error_msg: detail, status: 502 });
    written.set(question, { deltas: [{ content: 'At last.' }], finish: 'stop' });
    expect(await chat.ask(name, question, { id: 'q' })).toMatchObject({ answer: 'At last.' });
  });
});
