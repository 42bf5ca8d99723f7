// `local-echo` through the official SDK: what a client of a real model asks for is honoured, or refused by its name.

import { describe, expect, test } from 'bun:test';
import OpenAI, { BadRequestError } from 'openai';
import { BOOTSTRAP_KEY, startService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';

const service = await shared(startService());
const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: BOOTSTRAP_KEY, maxRetries: 0 });

type ChatOptions = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;
type CompletionOptions = Partial<OpenAI.CompletionCreateParamsNonStreaming>;

const TEXT = 'one two three four';
const chatRequest = (options: ChatOptions = {}, text = TEXT) => ({
  model: 'local-echo',
  messages: [
    { role: 'system' as const, content: 'be brief' },
    { role: 'user' as const, content: text },
  ],
  ...options,
});
const chat = (options: ChatOptions = {}, text = TEXT) =>
  client.chat.completions.create({ ...chatRequest(options, text), stream: false });
const complete = (options: CompletionOptions = {}) =>
  client.completions.create({ model: 'local-echo', prompt: TEXT, ...options, stream: false });

const refusalOf = async (asked: Promise<unknown>): Promise<{ param: unknown; code: unknown }> => {
  const error = await asked.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(BadRequestError);
  const { param, code } = error as BadRequestError;
  return { param, code };
};

/** The same as a whole answer: the SDK's own helper puts a stream together. */
const gathered = async (options: ChatOptions = {}, text = TEXT) =>
  client.chat.completions.stream({ ...chatRequest(options, text), stream: true }).finalChatCompletion();

const choicesOf = ({ choices }: OpenAI.ChatCompletion) =>
  choices.map(({ index, message, finish_reason }) => ({
    index,
    content: message.content,
    finish_reason,
    called: message.tool_calls?.map((call) =>
      call.type === 'function' ? [call.function.name, call.function.arguments] : [],
    ),
  }));

const usageOf = ({ usage }: { usage?: OpenAI.CompletionUsage | null | undefined }) => {
  const { prompt_tokens = 0, completion_tokens = 0, total_tokens = 0 } = usage ?? {};
  expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  return { prompt_tokens, completion_tokens };
};

const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'ping' } },
  {
    type: 'function',
    function: {
      name: 'find',
      parameters: {
        type: 'object',
        properties: {
          query: { type: 'string' },
          limit: { type: 'integer', minimum: 3 },
          order: { enum: ['up', 'down'] },
          note: { type: 'string' },
        },
        required: ['query', 'limit', 'order'],
        additionalProperties: false,
      },
    },
  },
];
const FOUND = `{"query":"${TEXT}","limit":3,"order":"up"}`;

describe('a conversation', () => {
  const cases: [
    name: string,
    options: ChatOptions,
    content: string | null,
    finish: string,
    tokens: number,
  ][] = [
    ['says what it was told', {}, `Echo: ${TEXT}`, 'stop', 5],
    ['ends with max_tokens', { max_tokens: 2 }, 'Echo: one ', 'length', 2],
    ['ends with max_completion_tokens', { max_completion_tokens: 1 }, 'Echo: ', 'length', 1],
    [
      'ends with the smaller of both',
      { max_tokens: 3, max_completion_tokens: 9 },
      'Echo: one two ',
      'length',
      3,
    ],
    ['is whole where just as many tokens may be', { max_tokens: 5 }, `Echo: ${TEXT}`, 'stop', 5],
    ['ends before a stop sequence', { stop: ' three' }, 'Echo: one two', 'stop', 3],
    ['ends before the first of several', { stop: ['four', 'two', 'nowhere'] }, 'Echo: one ', 'stop', 2],
    ['ends with what comes first', { stop: 'four', max_tokens: 2 }, 'Echo: one ', 'length', 2],
    ['may end before it begins', { stop: ['Echo'] }, '', 'stop', 0],
    [
      'takes null for absent',
      { stop: null, max_tokens: null, n: null, logprobs: null },
      `Echo: ${TEXT}`,
      'stop',
      5,
    ],
    ['is text where text is asked for', { response_format: { type: 'text' } }, `Echo: ${TEXT}`, 'stop', 5],
    [
      'is an object where JSON is asked for',
      { response_format: { type: 'json_object' } },
      `{"echo":"${TEXT}"}`,
      'stop',
      4,
    ],
    ['needs not call a tool', { tools: TOOLS, tool_choice: 'auto' }, `Echo: ${TEXT}`, 'stop', 5],
    ['may not call a tool', { tools: TOOLS, tool_choice: 'none' }, `Echo: ${TEXT}`, 'stop', 5],
  ];
  for (const [name, options, content, finish_reason, completion_tokens] of cases) {
    test(`${name}, whole and streamed`, async () => {
      const whole = await chat(options);
      expect(choicesOf(whole)).toEqual([{ index: 0, content, finish_reason, called: undefined }] as never);
      expect(usageOf(whole)).toEqual({ prompt_tokens: 6, completion_tokens });
      const streamed = await gathered({ ...options, stream_options: { include_usage: true } } as ChatOptions);
      expect(choicesOf(streamed)).toEqual(choicesOf(whole).map((each) => ({ ...each, called: undefined })));
      expect(usageOf(streamed)).toEqual({ prompt_tokens: 6, completion_tokens });
    });
  }

  test('gives as many choices as are asked for, in streams too, and counts them all', async () => {
    const expected = [0, 1, 2].map((index) => ({ index, content: 'Echo: one ', finish_reason: 'length' }));
    const whole = await chat({ n: 3, max_tokens: 2 });
    expect(choicesOf(whole)).toMatchObject(expected as never);
    expect(usageOf(whole).completion_tokens).toBe(6);
    const streamed = await gathered({ n: 3, max_tokens: 2 });
    expect(choicesOf(streamed)).toMatchObject(expected as never);
  });

  test('has a longest answer, whose end is told as such', async () => {
    const long = 'word '.repeat(20_000);
    const { choices, usage } = await chat({}, long);
    expect([choices[0]?.finish_reason, usage?.completion_tokens]).toEqual(['length', 16_384]);
    expect(choices[0]?.message.content).toBe(`Echo: ${long}`.slice(0, 'Echo: '.length + 16_383 * 5));
    const shared = await chat({ n: 4 }, long);
    expect(usageOf(shared).completion_tokens).toBe(16_384);
    const one = await chat({}, 'x'.repeat(1_000_000));
    expect([one.choices[0]?.finish_reason, one.usage?.completion_tokens]).toEqual(['length', 16_384]);
  });

  test('cuts no character in half', async () => {
    const text = '😀'.repeat(50);
    expect((await chat({}, text)).choices[0]?.message.content).toBe(`Echo: ${text}`);
    expect(choicesOf(await gathered({}, text))[0]?.content).toBe(`Echo: ${text}`);
    const cut = (await chat({ max_tokens: 3 }, text)).choices[0]?.message.content ?? '';
    expect(cut.isWellFormed()).toBe(true);
  });

  test('has its texts from the parts of a message', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a ' },
          { type: 'image_url', image_url: { url: 'https://x.example' } },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'assistant', content: null },
    ];
    expect((await chat({ messages })).choices[0]?.message.content).toBe('Echo: a b');
  });
});

describe('a call of a tool', () => {
  const required: [name: string, options: ChatOptions, called: [string, string]][] = [
    ['that has to be made is made of the first', { tool_choice: 'required' }, ['ping', '{}']],
    [
      'of a named one is made of that',
      { tool_choice: { type: 'function', function: { name: 'find' } } },
      ['find', FOUND],
    ],
    [
      'has no stop sequences',
      { tool_choice: { type: 'function', function: { name: 'find' } }, stop: 'one' },
      ['find', FOUND],
    ],
  ];
  for (const [name, options, called] of required) {
    test(`${name}, whole and streamed`, async () => {
      const expected = [{ index: 0, content: null, finish_reason: 'tool_calls', called: [called] }];
      const whole = await chat({ tools: TOOLS, ...options });
      expect(choicesOf(whole)).toEqual(expected as never);
      expect(usageOf(whole).completion_tokens).toBeGreaterThan(0);
      expect(choicesOf(await gathered({ tools: TOOLS, ...options }))).toEqual(expected as never);
    });
  }

  test('of a tool that is not there, or of none, is refused', async () => {
    const named = { type: 'function', function: { name: 'nobody' } } as const;
    for (const tool_choice of ['required', named, 'always' as 'auto'] as const)
      expect((await refusalOf(chat({ tool_choice }))).param).toBe('tool_choice');
    expect((await refusalOf(chat({ tools: TOOLS, tool_choice: named }))).param).toBe('tool_choice');
  });

  test('of a tool without a fit name is refused', async () => {
    for (const name of ['', 'a b', 'x'.repeat(65), 5 as unknown as string]) {
      const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name } }];
      expect((await refusalOf(chat({ tools, tool_choice: 'required' }))).param).toBe(
        'tools[0].function.name',
      );
    }
  });

  test('whose arguments cannot be made up is refused', async () => {
    const parameters = {
      type: 'object',
      properties: { a: { type: 'string', pattern: '^x' } },
      required: ['a'],
    };
    const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'f', parameters } }];
    const refusal = await refusalOf(chat({ tools, tool_choice: 'required' }));
    expect(refusal).toEqual({ param: 'tools', code: 'unsupported_parameter' });
  });
});

test('an answer in a schema is as the schema has it', async () => {
  const schema = {
    type: 'object',
    additionalProperties: false,
    required: ['title', 'steps', 'kind'],
    properties: {
      title: { type: 'string', maxLength: 7 },
      steps: { type: 'array', minItems: 2, items: { $ref: '#/$defs/step' } },
      kind: { anyOf: [{ type: 'string', pattern: 'x' }, { type: 'null' }] },
    },
    $defs: {
      step: { type: 'object', required: ['at'], properties: { at: { type: 'number', exclusiveMinimum: 0 } } },
    },
  };
  const response_format = {
    type: 'json_schema',
    json_schema: { name: 'plan', schema, strict: true },
  } as const;
  const { choices } = await chat({ response_format });
  expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({
    title: 'one two',
    steps: [{ at: 1 }, { at: 1 }],
    kind: null,
  });
  const oneOf = { type: 'json_schema', json_schema: { name: 'x', schema: { oneOf: [] } } } as const;
  expect((await refusalOf(chat({ response_format: oneOf }))).param).toBe(
    'response_format.json_schema.schema',
  );
});

describe('a conversation that asks for what there is not is refused by the name', () => {
  const wrong: [param: string, options: Record<string, unknown>][] = [
    ...[0, -1, 1.5, '5', true, {}].map((value): [string, Record<string, unknown>] => [
      'max_tokens',
      { max_tokens: value },
    ]),
    ['max_completion_tokens', { max_completion_tokens: 0 }],
    ...[0, 129, 'two', 1e40, 2.5].map((value): [string, Record<string, unknown>] => ['n', { n: value }]),
    ...['', [''], [5], {}, ['a', 'b', 'c', 'd', 'e'], 'x'.repeat(300)].map(
      (value): [string, Record<string, unknown>] => ['stop', { stop: value }],
    ),
    ['logprobs', { logprobs: true }],
    ['audio', { audio: { voice: 'a', format: 'mp3' } }],
    ['function_call', { function_call: { name: 'f' } }],
    ['response_format.type', { response_format: { type: 'xml' } }],
    ['response_format', { response_format: 'json' }],
    ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
    ['messages', { messages: [] }],
    ['messages', { messages: 'hello' }],
    ['messages[0]', { messages: ['hello'] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }],
  ];
  for (const [param, options] of wrong) {
    test(JSON.stringify(options).slice(0, 60), async () => {
      for (const stream of [false, true])
        expect(
          (await refusalOf(client.chat.completions.create({ ...chatRequest(), ...options, stream } as never)))
            .param,
        ).toBe(param);
    });
  }

  test('but members that nobody knows, and that change nothing here, are left alone', async () => {
    const options = { temperature: 0.3, seed: 1, user: 'u', x_unknown: { a: 1 }, logprobs: false, top_p: 1 };
    expect((await chat(options as ChatOptions)).choices[0]?.message.content).toBe(`Echo: ${TEXT}`);
  });
});

describe('a completion', () => {
  const textsOf = ({ choices }: OpenAI.Completion) =>
    choices.map(({ index, text, finish_reason }) => [index, text, finish_reason]);
  const streamed = async (options: CompletionOptions) => {
    const choices: [number, string, string][] = [];
    const asked = { model: 'local-echo', prompt: TEXT, ...options, stream: true as const };
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of await client.completions.create({
      ...asked,
      stream_options: { include_usage: true },
    })) {
      usage = chunk.usage ?? usage;
      for (const { index, text, finish_reason } of chunk.choices) {
        const known = choices[index] ?? [index, '', ''];
        choices[index] = [index, known[1] + text, finish_reason ?? known[2]];
      }
    }
    return { choices, usage };
  };

  const cases: [name: string, options: CompletionOptions, texts: string[], finish: string, tokens: number][] =
    [
      ['says what it was told', {}, [`Echo: ${TEXT}`], 'stop', 5],
      ['answers each prompt', { prompt: ['a', 'b'] }, ['Echo: a', 'Echo: b'], 'stop', 4],
      [
        'answers each prompt as often as is asked for',
        { prompt: ['a', 'b'], n: 2 },
        ['Echo: a', 'Echo: a', 'Echo: b', 'Echo: b'],
        'stop',
        8,
      ],
      ['ends with max_tokens', { max_tokens: 2 }, ['Echo: one '], 'length', 2],
      ['may have no tokens', { max_tokens: 0 }, [''], 'length', 0],
      ['ends before a stop sequence', { stop: ['two'] }, ['Echo: one '], 'stop', 2],
    ];
  for (const [name, options, texts, finish, tokens] of cases) {
    test(`${name}, whole and streamed`, async () => {
      const expected = texts.map((text, index): [number, string, string] => [index, text, finish]);
      const whole = await complete(options);
      expect(textsOf(whole)).toEqual(expected);
      expect(usageOf(whole).completion_tokens).toBe(tokens);
      const stream = await streamed(options);
      expect(stream.choices).toEqual(expected);
      expect(usageOf(stream)).toEqual(usageOf(whole));
    });
  }

  const wrong: [param: string, options: Record<string, unknown>][] = [
    ['prompt', { prompt: [] }],
    ['prompt', { prompt: [1, 2, 3] }],
    ['prompt', { prompt: 5 }],
    ['prompt', { prompt: Array(2049).fill('a') }],
    ['n', { prompt: Array(100).fill('a'), n: 100 }],
    ['best_of', { best_of: 2 }],
    ['logprobs', { logprobs: 0 }],
    ['echo', { echo: true }],
    ['suffix', { suffix: ' five' }],
    ['max_tokens', { max_tokens: -1 }],
  ];
  for (const [param, options] of wrong)
    test(`is refused by the name: ${JSON.stringify(options).slice(0, 50)}`, async () => {
      expect((await refusalOf(complete(options as CompletionOptions))).param).toBe(param);
    });

  test('shares what an answer may have among all of its choices', async () => {
    const prompt = Array<string>(2048).fill('a b c d e f g h i j k');
    const { choices, usage } = await complete({ prompt });
    expect([choices.length, usage?.completion_tokens]).toEqual([2048, 16_384]);
  });
});
