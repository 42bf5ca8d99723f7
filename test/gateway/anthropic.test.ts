// Chat completions over Anthropic's Messages API: what is asked, what is answered, and the same in a stream.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { UntranslatableRequest } from '../../src/gateway/adapters/adapter.ts';
import { anthropic } from '../../src/gateway/adapters/anthropic/index.ts';
import { type AnthropicMessage, messages as anyMessage, assemble, eventsOf } from './anthropic-messages.ts';

const { translation } = anthropic;
if (translation === undefined) throw new Error('Anthropic needs a translation');

const ask = (body: JsonObject): JsonObject => translation.request(body, 'claude');
const user = (content: Json): JsonObject => ({ messages: [{ role: 'user', content }] });
const messagesOf = (...messages: JsonObject[]): Json => ask({ messages })['messages'] ?? null;

function refusalOf(body: JsonObject): string {
  try {
    ask(body);
  } catch (error) {
    if (error instanceof UntranslatableRequest) return error.param;
    throw error;
  }
  return 'translated';
}

describe('a request', () => {
  test('has the least that Anthropic asks for', () => {
    expect(ask(user('hello'))).toEqual({
      model: 'claude',
      max_tokens: 4096,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    });
  });

  test('keeps the limits and the sampling, on the scale of the upstream', () => {
    const sent = ask({
      ...user('hello'),
      max_tokens: 5,
      temperature: 1.7,
      top_p: 0.5,
      stop: 'END',
      stream: true,
    });
    expect(sent).toMatchObject({
      max_tokens: 5,
      temperature: 1,
      top_p: 0.5,
      stop_sequences: ['END'],
      stream: true,
    });
    expect(ask({ ...user('hello'), max_tokens: 5, max_completion_tokens: 7 })['max_tokens']).toBe(7);
    expect(ask({ ...user('hello'), stop: ['a', 'b'] })['stop_sequences']).toEqual(['a', 'b']);
    const nothing = ask({ ...user('hello'), max_tokens: null, temperature: null, stop: null, tools: null });
    expect(nothing).toEqual(ask(user('hello')));
  });

  test('has system messages apart, wherever they stood', () => {
    const sent = ask({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      ],
    });
    expect(sent['system']).toEqual([
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: 'Be kind.' },
    ]);
    expect(sent['messages']).toEqual([{ role: 'user', content: [{ type: 'text', text: 'hello' }] }]);
  });

  test('shows images and documents', () => {
    const image = (url: string): JsonObject => ({ type: 'image_url', image_url: { url, detail: 'low' } });
    const sent = messagesOf({
      role: 'user',
      content: [
        { type: 'text', text: 'what is this?' },
        image('data:image/PNG;base64,iVBORw0KGgo='),
        image('https://images.example/cat.jpg'),
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
      ],
    });
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };
    expect(sent).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          { type: 'image', source: { type: 'url', url: 'https://images.example/cat.jpg' } },
          { type: 'document', source: pdf, title: 'a.pdf' },
        ],
      },
    ]);
  });

  test('carries the calls of tools and their results, all results of a turn in one message', () => {
    const call = (id: string, args: string): JsonObject => ({
      id,
      type: 'function',
      function: { name: 'weather', arguments: args },
    });
    const sent = messagesOf(
      { role: 'user', content: 'weather?' },
      { role: 'assistant', content: '', tool_calls: [call('a', '{"city":"Rome"}'), call('b', '')] },
      { role: 'tool', tool_call_id: 'a', content: 'sunny' },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'user', content: 'and now?' },
    );
    expect(sent).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'weather?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Rome' } },
          { type: 'tool_use', id: 'b', name: 'weather', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'sunny' }] },
          { type: 'tool_result', tool_use_id: 'b' },
          { type: 'text', text: 'and now?' },
        ],
      },
    ]);
  });

  test('keeps every digit of the arguments of a tool', () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{"id":9007199254740993}' } };
    const sent = messagesOf({ role: 'user', content: 'go' }, { role: 'assistant', tool_calls: [call] });
    expect(JSON.stringify(sent)).toContain('"input":{"id":9007199254740993}');
  });

  const tool = {
    type: 'function',
    function: { name: 'f', description: 'does f', parameters: { type: 'object' } },
  };

  test('offers tools', () => {
    const bare = { type: 'function', function: { name: 'g', strict: true } };
    expect(ask({ ...user('go'), tools: [tool, bare] })['tools']).toEqual([
      { name: 'f', description: 'does f', input_schema: { type: 'object' } },
      { name: 'g', input_schema: { type: 'object', properties: {} }, strict: true },
    ]);
    expect(ask({ ...user('go'), tools: [] })).toEqual(ask(user('go')));
  });

  const one = { type: 'function', function: { name: 'f' } };
  const choices: [choice: Json | undefined, parallel: boolean | undefined, sent: JsonObject | undefined][] = [
    [undefined, undefined, undefined],
    ['auto', undefined, { type: 'auto' }],
    ['none', undefined, { type: 'none' }],
    ['none', false, { type: 'none' }],
    ['required', undefined, { type: 'any' }],
    [one, undefined, { type: 'tool', name: 'f' }],
    [undefined, true, undefined],
    [undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
    ['required', false, { type: 'any', disable_parallel_tool_use: true }],
  ];
  for (const [choice, parallel, sent] of choices)
    test(`tool_choice ${JSON.stringify(choice)} with parallel_tool_calls ${parallel}`, () => {
      const body = { ...user('go'), tools: [tool], tool_choice: choice, parallel_tool_calls: parallel };
      expect(ask(body)['tool_choice']).toEqual(sent);
    });

  test('asks for the structure of the answer', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    const format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } };
    expect(ask({ ...user('go'), response_format: format })['output_config']).toEqual({
      format: { type: 'json_schema', schema },
    });
    expect(ask({ ...user('go'), response_format: { type: 'text' } })).toEqual(ask(user('go')));
  });

  const impossible: [param: string, body: JsonObject][] = [
    ['messages', {}],
    ['messages[0]', { messages: ['hello'] }],
    ['messages[0].role', { messages: [{ role: 'function', content: 'x' }] }],
    ['messages[0].content', user(5)],
    ['messages[0].content[0].type', user([{ type: 'input_audio', input_audio: {} }])],
    [
      'messages[0].content[0].image_url.url',
      user([{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }]),
    ],
    [
      'messages[0].tool_calls[0].function.arguments',
      {
        messages: [
          { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '[1' } }] },
        ],
      },
    ],
    ['n', { ...user('go'), n: 2 }],
    ['logprobs', { ...user('go'), logprobs: true }],
    ['functions', { ...user('go'), functions: [] }],
    ['response_format', { ...user('go'), response_format: { type: 'json_object' } }],
    ['tools[0].type', { ...user('go'), tools: [{ type: 'custom' }] }],
    ['tool_choice', { ...user('go'), tools: [tool], tool_choice: 'sometimes' }],
    ['tool_choice', { ...user('go'), tools: [tool], tool_choice: 'constructor' }],
  ];
  for (const [index, [param, body]] of impossible.entries())
    test(`that cannot be had names the parameter: ${param} (${index})`, () => {
      expect(refusalOf(body)).toBe(param);
    });

  test('of any JSON is translated or refused, never a failure', () => {
    const names = ['messages', 'tools', 'tool_choice', 'response_format', 'stop', 'n', 'user', 'temperature'];
    const member = fc.constantFrom(
      ...names,
      'role',
      'content',
      'type',
      'function',
      'tool_calls',
      'image_url',
    );
    const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom<Json>(
          'user',
          'assistant',
          'tool',
          'system',
          'text',
          'function',
          'image_url',
          null,
          1,
        ),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(member, tie('tree'), { maxKeys: 5 }),
      ),
    }));
    const body = fc.dictionary(member, tree, { maxKeys: 6 });
    fc.assert(fc.property(body, (any) => expect(refusalOf(any)).toBeString()));
  });
});

describe('a conversation', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 20 });
  const turn = fc.oneof(
    fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), content: text }),
    fc.record({ role: fc.constant('tool'), tool_call_id: fc.uuid(), content: text }),
    fc.record({
      role: fc.constant('user'),
      content: fc.array(fc.record({ type: fc.constant('text'), text }), { maxLength: 3 }),
    }),
  );

  test('of any shape arrives in order, with turns that alternate and no empty text', () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 12 }), (turns) => {
        const sent = ask({ messages: turns as JsonObject[] })['messages'] as {
          role: string;
          content: JsonObject[];
        }[];
        const roles = sent.map(({ role }) => role);
        expect(roles.every((role, index) => role !== roles[index - 1])).toBe(true);
        const blocks = sent.flatMap(({ content }) => content);
        expect(sent.every(({ content }) => content.length > 0)).toBe(true);
        expect(blocks.some((block) => block['text'] === '')).toBe(false);
        const results = turns.flatMap((each) => ('tool_call_id' in each ? [each.tool_call_id] : []));
        expect(blocks.flatMap((block) => block['tool_use_id'] ?? [])).toEqual(results);
        const said = turns
          .filter(({ role }) => role === 'user' || role === 'assistant')
          .flatMap(({ content }) =>
            typeof content === 'string' ? [content] : content.map((part) => part.text),
          );
        expect(blocks.flatMap((block) => block['text'] ?? [])).toEqual(said.filter((each) => each !== ''));
      }),
    );
  });
});

const CONTEXT = { model: 'my-claude', created: 1_700_000_000 };

describe('an answer', () => {
  test('is a chat completion with the model that was asked for', () => {
    const answer = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'Hello' },
      ],
      stop_reason: 'end_turn',
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 20,
        cache_read_input_tokens: 30,
        output_tokens: 4,
      },
    };
    expect(translation.response(answer, CONTEXT)).toEqual({
      id: 'msg_1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'my-claude',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 60,
        completion_tokens: 4,
        total_tokens: 64,
        prompt_tokens_details: { cached_tokens: 30 },
      },
    });
  });

  const reasons = {
    end_turn: 'stop',
    stop_sequence: 'stop',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    tool_use: 'tool_calls',
    refusal: 'content_filter',
    a_reason_of_tomorrow: 'stop',
    constructor: 'stop',
  };
  for (const [theirs, ours] of Object.entries(reasons))
    test(`that ends for ${theirs} finishes for ${ours}`, () => {
      const answer = { id: 'm', content: [], stop_reason: theirs, usage: {} };
      expect(translation.response(answer, CONTEXT)).toMatchObject({ choices: [{ finish_reason: ours }] });
    });

  for (const nonsense of [null, 'text', [], {}, { content: 'hello' }, { type: 'error', error: {} }])
    test(`that is ${JSON.stringify(nonsense)} is refused`, () => {
      expect(() => translation.response(nonsense, CONTEXT)).toThrow();
    });
});

/** An event as it is read. */
const sent = (event: JsonObject) => ({
  name: String(event['type']),
  data: JSON.stringify(event),
  chunk: event,
});

describe('a stream', () => {
  const run = (message: AnthropicMessage, includeUsage: boolean, cuts: number[]) => {
    const stream = translation.stream({ ...CONTEXT, includeUsage });
    const events = eventsOf(message, cuts);
    const chunks: JsonObject[] = [];
    for (const event of events) {
      expect(stream.done()).toBe(false);
      chunks.push(...stream.event(sent(event)));
    }
    expect(stream.done()).toBe(true);
    return chunks;
  };

  test('says what the whole answer says, however it is cut', () => {
    const cuts = fc.array(fc.nat(30), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(anyMessage, fc.boolean(), cuts, (message, includeUsage, where) => {
        const whole = translation.response(message, CONTEXT);
        const chunks = run(message, includeUsage, where);
        expect(assemble(chunks)).toEqual(includeUsage ? whole : { ...whole, usage: undefined });
      }),
    );
  });

  test('has one id in all chunks, and a usage of null in all but the last when it is asked for', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const chunks = run(message, true, [3]);
        expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
        expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
        expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
        expect(run(message, false, [3]).some((chunk) => 'usage' in chunk)).toBe(false);
      }),
    );
  });

  const start = { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1 } } };
  const send = (...events: JsonObject[]): JsonObject[] => {
    const stream = translation.stream({ ...CONTEXT, includeUsage: false });
    return events.flatMap((event) => stream.event(sent(event)));
  };

  test('tells of a failure in the middle', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect(send(start, error).at(-1)).toEqual({
      error: { message: 'Overloaded', type: 'server_error', code: 'overloaded', param: null },
    });
  });

  test('passes over pings, thoughts and events that came to be later', () => {
    const thought = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking: 'hm' },
    };
    expect(send(start, { type: 'ping' }, thought, { type: 'constructor' })).toHaveLength(1);
  });

  test('that makes no sense is refused', () => {
    const stream = translation.stream({ ...CONTEXT, includeUsage: false });
    expect(() => stream.event({ name: 'ping', data: '{"type":', chunk: undefined })).toThrow();
    expect(() => stream.event({ name: 'ping', data: '[]', chunk: undefined })).toThrow();
    const text = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } };
    expect(() => send(text)).toThrow('has not begun');
    const json = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{' },
    };
    expect(() => send(start, json)).toThrow('has not begun');
  });
});

describe('an error', () => {
  const cases: [status: number, theirs: string, type: string, code: string | null][] = [
    [400, 'invalid_request_error', 'invalid_request_error', null],
    [404, 'not_found_error', 'invalid_request_error', 'model_not_found'],
    [413, 'request_too_large', 'invalid_request_error', 'request_too_large'],
    [429, 'rate_limit_error', 'requests', 'rate_limit_exceeded'],
    [500, 'api_error', 'server_error', null],
    [529, 'overloaded_error', 'server_error', 'overloaded'],
    [418, 'error_of_tomorrow', 'invalid_request_error', null],
  ];
  for (const [status, theirs, type, code] of cases)
    test(`${theirs} is ${type}, ${code}`, () => {
      const answer = { type: 'error', error: { type: theirs, message: 'no' }, request_id: 'r' };
      expect(translation.error(status, answer)).toEqual({ message: 'no', type, code, param: null });
    });

  test('of any JSON has all four members', () => {
    fc.assert(
      fc.property(fc.integer({ min: 400, max: 599 }), fc.jsonValue(), (status, answer) => {
        const { message, type, code, param } = translation.error(status, answer);
        expect([message, type]).toEqual([expect.stringMatching(/./), expect.any(String)]);
        expect(code === null || typeof code === 'string').toBe(true);
        expect(param).toBeNull();
      }),
    );
  });
});
