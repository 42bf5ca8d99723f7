// Chat completions and completions as OpenAI answers them.

import { sampleOf } from './sample.ts';
import {
  type Body,
  countWords,
  isBody,
  listOf,
  nextId,
  nowSeconds,
  partsOf,
  type Reply,
  textOf,
  type Wire,
  wordsOf,
} from './wire.ts';

export const openAiError = (status: number, message: string, param: string | null = null): Body => ({
  error: {
    message,
    type: TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error'),
    param,
    code: CODES[status] ?? null,
  },
});

const TYPES: Record<number, string> = { 401: 'authentication_error', 429: 'requests' };
const CODES: Record<number, string> = {
  401: 'invalid_api_key',
  404: 'model_not_found',
  429: 'rate_limit_exceeded',
};

const event = (data: unknown): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}`;

const errorEvent = event(openAiError(500, 'The server had an error while processing your request'));

/** Everything that the messages say, with the images that they show. */
function saidIn(messages: readonly unknown[]): string {
  const last = messages.findLast((message) => isBody(message) && message['role'] !== 'system');
  if (!isBody(last)) return '';
  const { content } = last;
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => {
      if (!isBody(part)) return '';
      const { image_url: image } = part;
      return isBody(image) ? `[image ${String(image['url'])}]` : String(part['text'] ?? '');
    })
    .join(' ');
}

const usageOf = (prompt: number, completion: number): Body => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
});

/** The tools that the model decides to call: the one it is told to, or the first unless a tool has answered already. */
function toolCallsOf(body: Body): Body[] {
  const tools = listOf(body['tools']).filter(isBody);
  const choice = body['tool_choice'];
  const answered = listOf(body['messages']).some((message) => isBody(message) && message['role'] === 'tool');
  if (tools.length === 0 || choice === 'none' || (answered && (choice === undefined || choice === 'auto')))
    return [];
  const functions = tools.map((tool) => tool['function']).filter(isBody);
  const wanted = isBody(choice) && isBody(choice['function']) ? choice['function']['name'] : undefined;
  const called = wanted === undefined ? functions : functions.filter(({ name }) => name === wanted);
  const all = body['parallel_tool_calls'] === false ? called.slice(0, 1) : called;
  return all.map((each) => ({
    id: nextId('call'),
    type: 'function',
    function: { name: each['name'], arguments: JSON.stringify(sampleOf(each['parameters']) ?? {}) },
  }));
}

function contentOf(
  body: Body,
  said: string,
  size: { words: number | undefined; mb: number | undefined },
): string {
  const format = body['response_format'];
  if (isBody(format) && format['type'] === 'json_object') return JSON.stringify({ said });
  if (isBody(format) && isBody(format['json_schema']))
    return JSON.stringify(sampleOf(format['json_schema']['schema']));
  return textOf(said, size);
}

/** Text that is cut at the tokens which the request allows. */
function limited(body: Body, text: string): { text: string; finish: string } {
  const most = body['max_completion_tokens'] ?? body['max_tokens'];
  const words = wordsOf(text);
  if (typeof most !== 'number' || words.length <= most) return { text, finish: 'stop' };
  return { text: words.slice(0, most).join(''), finish: 'length' };
}

const includesUsage = (body: Body): boolean =>
  isBody(body['stream_options']) && body['stream_options']['include_usage'] === true;

export const chat: Wire = {
  refuse: (body) =>
    Array.isArray(body['messages'])
      ? undefined
      : { status: 400, message: "Missing required parameter: 'messages'.", param: 'messages' },
  error: openAiError,
  reply(body, { model, ...size }): Reply {
    const messages = listOf(body['messages']);
    const calls = toolCallsOf(body);
    const { text, finish } = limited(body, contentOf(body, saidIn(messages), size));
    const content = calls.length > 0 ? null : text;
    const finishReason = calls.length > 0 ? 'tool_calls' : finish;
    const usage = usageOf(countWords(JSON.stringify(messages)), calls.length || wordsOf(text).length);
    const head = { id: nextId('chatcmpl'), created: nowSeconds(), model, system_fingerprint: 'fp_mock' };
    const several = Array.from(
      { length: typeof body['n'] === 'number' ? body['n'] : 1 },
      (_, index) => index,
    );
    const message = {
      role: 'assistant',
      content,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const chunk = (delta: Body, finish_reason: string | null = null): string =>
      event({
        ...head,
        object: 'chat.completion.chunk',
        choices: several.map((index) => ({ index, delta, logprobs: null, finish_reason })),
        ...(includesUsage(body) && { usage: null }),
      });
    const deltas =
      calls.length > 0 ? calls.flatMap(toolDeltas) : partsOf(text, size).map((part) => ({ content: part }));
    return {
      whole: {
        ...head,
        object: 'chat.completion',
        choices: several.map((index) => ({ index, message, logprobs: null, finish_reason: finishReason })),
        usage,
      },
      events: [
        chunk({ role: 'assistant', content: calls.length > 0 ? null : '', refusal: null }),
        ...deltas.map((delta) => chunk(delta)),
        chunk({}, finishReason),
        ...(includesUsage(body)
          ? [event({ ...head, object: 'chat.completion.chunk', choices: [], usage })]
          : []),
        event('[DONE]'),
      ],
      errorEvent,
    };
  },
};

/** A call comes as its name, then its arguments in two halves. */
function toolDeltas(call: Body, index: number): Body[] {
  const called = call['function'] as { name: string; arguments: string };
  const middle = Math.floor(called.arguments.length / 2);
  const halves = [called.arguments.slice(0, middle), called.arguments.slice(middle)];
  return [
    { tool_calls: [{ index, ...call, function: { name: called.name, arguments: '' } }] },
    ...halves.map((half) => ({ tool_calls: [{ index, function: { arguments: half } }] })),
  ];
}

export const completions: Wire = {
  refuse: (body) =>
    body['prompt'] === undefined
      ? { status: 400, message: "Missing required parameter: 'prompt'.", param: 'prompt' }
      : undefined,
  error: openAiError,
  reply(body, { model, ...size }): Reply {
    const said = String(body['prompt']);
    const { text, finish } = limited(body, textOf(said, size));
    const head = { id: nextId('cmpl'), object: 'text_completion', created: nowSeconds(), model };
    const usage = usageOf(countWords(said), wordsOf(text).length);
    const choice = (part: string, finish_reason: string | null) => ({
      text: part,
      index: 0,
      logprobs: null,
      finish_reason,
    });
    const chunk = (part: string, finish_reason: string | null): string =>
      event({ ...head, choices: [choice(part, finish_reason)], ...(includesUsage(body) && { usage: null }) });
    return {
      whole: { ...head, choices: [choice(text, finish)], usage },
      events: [
        ...partsOf(text, size).map((part) => chunk(part, null)),
        chunk('', finish),
        ...(includesUsage(body) ? [event({ ...head, choices: [], usage })] : []),
        event('[DONE]'),
      ],
      errorEvent,
    };
  },
};
