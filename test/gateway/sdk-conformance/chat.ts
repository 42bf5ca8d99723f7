// Chat completions through the official SDK.

import { expect, test } from 'bun:test';
import type OpenAI from 'openai';
import type { ChatCompletionChunk, ChatCompletionTool } from 'openai/resources/chat/completions';
import { clientOf, type Kind, type Place } from './place.ts';

export const HELLO = [{ role: 'user' as const, content: 'hello there' }];

const WEATHER: ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city', 'days'],
      additionalProperties: false,
    },
  },
};

const textOf = (chunks: readonly ChatCompletionChunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function chatSuite(here: () => Place, kind: Kind): void {
  const client = (): OpenAI => clientOf(here());
  const model = (name: string): string => here().model(name);

  test('a chat completion has all that the SDK gives', async () => {
    const completion = await client().chat.completions.create({ model: model('ok'), messages: HELLO });
    expect(completion.object).toBe('chat.completion');
    expect(completion.id).toBeString();
    expect(Math.abs(completion.created - Date.now() / 1000)).toBeLessThan(60);
    expect(completion.choices).toMatchObject([
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'You said: hello there', refusal: null },
      },
    ]);
    const { prompt_tokens, completion_tokens, total_tokens } = completion.usage ?? {};
    expect(prompt_tokens).toBeGreaterThan(0);
    expect(completion_tokens).toBeGreaterThan(0);
    expect(total_tokens).toBe((prompt_tokens ?? 0) + (completion_tokens ?? 0));
    expect(completion._request_id).toBeString();
  });

  for (const [name, asked] of Object.entries({
    streamed: 'ok',
    'in packets that end anywhere': 'shards',
    'with CRLF and comments': 'crlf',
    compressed: 'gzip',
  })) {
    test(`a stream ${name} has all its chunks, and the usage when it is asked for`, async () => {
      const stream = await client().chat.completions.create({
        model: model(asked),
        messages: HELLO,
        stream: true,
        stream_options: { include_usage: true },
      });
      const chunks = await collect(stream);
      expect(textOf(chunks)).toBe('You said: hello there');
      expect(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size).toBe(1);
      expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
      expect(chunks.at(-1)?.choices).toEqual([]);
      expect(chunks.at(-1)?.usage?.total_tokens).toBeGreaterThan(0);
    });
  }

  test('no character is lost where packets end within it', async () => {
    const said = 'Grüße, 世界 😀 \u2028 end';
    const stream = await client().chat.completions.create({
      model: model('shards'),
      stream: true,
      messages: [{ role: 'user', content: said }],
    });
    expect(textOf(await collect(stream))).toBe(`You said: ${said}`);
  });

  test('a stream has no usage that nobody asked for', async () => {
    const stream = await client().chat.completions.create({
      model: model('ok'),
      messages: HELLO,
      stream: true,
    });
    const chunks = await collect(stream);
    expect(chunks.every(({ usage }) => usage === undefined || usage === null)).toBe(true);
    expect(chunks.every(({ choices }) => choices.length === 1)).toBe(true);
  });

  test("the SDK's stream helper puts the answer together", async () => {
    const stream = client().chat.completions.stream({ model: model('ok'), messages: HELLO });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]?.message.content).toBe('You said: hello there');
  });

  test('chunks come as they are made', async () => {
    const name = 'trickle+ms=50+words=100';
    const asked = { model: model(name), messages: HELLO, stream: true } as const;
    const stream = await client().chat.completions.create(asked);
    let running: number | undefined;
    for await (const chunk of stream) {
      if (textOf([chunk]) === '') continue;
      ({ running } = await here().mock.state(name));
      break;
    }
    // All of them take five seconds.
    expect(running).toBe(1);
  });

  test('tools are called, whole and streamed, and their results understood', async () => {
    const asked = { model: model('ok'), messages: HELLO, tools: [WEATHER] };
    const whole = (await client().chat.completions.create(asked)).choices[0];
    const streamed = (await client().chat.completions.stream(asked).finalChatCompletion()).choices[0];
    for (const choice of [whole, streamed]) {
      expect(choice?.finish_reason).toBe('tool_calls');
      const call = choice?.message.tool_calls?.[0];
      expect(call).toMatchObject({ type: 'function', function: { name: 'weather' } });
      if (call?.type !== 'function' || choice === undefined) throw new Error('no function is called');
      expect(JSON.parse(call.function.arguments)).toEqual({ city: 'Paris', days: 7 });
      const result = { role: 'tool' as const, tool_call_id: call.id, content: 'sunny' };
      const completion = await client().chat.completions.create({
        model: model('ok'),
        tools: [WEATHER],
        messages: [...HELLO, choice.message, result],
      });
      expect(completion.choices[0]?.finish_reason).toBe('stop');
    }
  });

  test('the tool runner of the SDK goes round', async () => {
    const cities: string[] = [];
    const run = client().chat.completions.runTools({
      model: model('ok'),
      messages: HELLO,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city',
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
            parse: JSON.parse,
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return 'sunny';
            },
          },
        },
      ],
    });
    expect(await run.finalContent()).toStartWith('You said');
    expect(cities).toEqual(['Paris']);
  });

  test('a tool that must be called is called, and one alone when they may not be parallel', async () => {
    const other: ChatCompletionTool = {
      type: 'function',
      function: { name: 'time', parameters: { type: 'object' } },
    };
    const asked = { model: model('ok'), messages: HELLO, tools: [WEATHER, other] };
    const calls = async (more: object): Promise<string[]> => {
      const completion = await client().chat.completions.create({ ...asked, ...more });
      const all = completion.choices[0]?.message.tool_calls ?? [];
      return all.map((call) => (call.type === 'function' ? call.function.name : call.type));
    };
    expect(await calls({})).toEqual(['weather', 'time']);
    expect(await calls({ parallel_tool_calls: false })).toEqual(['weather']);
    expect(await calls({ tool_choice: { type: 'function', function: { name: 'time' } } })).toEqual(['time']);
    expect(await calls({ tool_choice: 'none' })).toEqual([]);
  });

  test('images in messages arrive', async () => {
    const completion = await client().chat.completions.create({
      model: model('ok'),
      messages: [
        { role: 'system', content: 'Look closely.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'these:' },
            { type: 'image_url', image_url: { url: 'https://images.example/a.png' } },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          ],
        },
      ],
    });
    const shown = kind === 'anthropic' ? 'image/png' : 'data:image/png;base64,iVBORw0KGgo=';
    expect(completion.choices[0]?.message.content).toBe(
      `You said: these: [image https://images.example/a.png] [image ${shown}]`,
    );
  });

  test('structured outputs are parsed', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, sunny: { type: 'boolean' } },
      required: ['city', 'sunny'],
      additionalProperties: false,
    };
    const completion = await client().chat.completions.parse({
      model: model('ok'),
      messages: HELLO,
      response_format: { type: 'json_schema', json_schema: { name: 'weather', strict: true, schema } },
    });
    expect(completion.choices[0]?.message.parsed).toEqual({ city: 'Paris', sunny: true });
  });

  test('an answer is cut where the request says so', async () => {
    const asked = { model: model('ok'), messages: HELLO, max_completion_tokens: 2 };
    const completion = await client().chat.completions.create(asked);
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: 'You said:' },
    });
  });

  test('an answer of megabytes arrives whole', async () => {
    const asked = { model: model('big'), messages: HELLO, max_completion_tokens: 2_000_000 };
    const completion = await client().chat.completions.create(asked);
    expect(completion.choices[0]?.message.content?.length).toBe(Math.ceil((5 * 1024 ** 2) / 12) * 12);
  });

  test('compressed answers are read', async () => {
    const completion = await client().chat.completions.create({ model: model('gzip'), messages: HELLO });
    expect(completion.choices[0]?.message.content).toBe('You said: hello there');
  });

  test('the raw response is there beside the parsed one', async () => {
    const asked = { model: model('ok'), messages: HELLO };
    const { data, response, request_id } = await client().chat.completions.create(asked).withResponse();
    expect(response.headers.get('content-type')).toStartWith('application/json');
    expect(response.headers.get('x-request-id')).toBe(request_id);
    expect(data.choices).toHaveLength(1);
    const raw = await client().chat.completions.create(asked).asResponse();
    expect(raw.status).toBe(200);
    expect(await raw.json()).toMatchObject({ object: 'chat.completion' });
    const { response: streamed } = await client()
      .chat.completions.create({ ...asked, stream: true })
      .withResponse();
    expect(streamed.headers.get('content-type')).toStartWith('text/event-stream');
    await streamed.body?.cancel();
  });
}
