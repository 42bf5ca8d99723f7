// The built-in model `local-echo` repeats its input, for wiring and load tests. It honours the options that clients of real models
// rely on, and refuses others by name.

import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { newRandomId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { nextTimeSlice } from '../../core/time-slices.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { Answer } from '../answer.ts';
import { LOCAL_CHAT_MODEL } from '../catalogue/model.ts';
import { DONE, type EventBlock, toBlock, toEvent } from '../events.ts';
import type { ModelCall } from '../model-call.ts';
import { estimateTokens } from '../usage.ts';
import { withQuotes } from './quotes.ts';
import { sampleOf } from './sample.ts';

/** Tokens of an answer, all of its choices together, each of which has its even share. */
const TOKENS_MAX = 16_384;
const CHOICES_MAX = 2048;
/** A token is a word and the blanks behind it, or 16 characters of a longer word. */
const TOKEN = /\S{1,16}\s{0,16}|\s{1,16}/gu;
/** More text than the longest answer has is not read. */
const READ_LENGTH_MAX = TOKENS_MAX * 32;
/** Streams are made in blocks of about this many UTF-16 units, as they are read. */
const BLOCK_LENGTH = 8192;

const Stop = Type.String({ minLength: 1, maxLength: 256 });
const None = Type.Optional(Type.Literal(false));
const Count = (minimum: number) => Type.Optional(Type.Integer({ minimum }));
const name = Type.String({ pattern: '^[\\w-]{1,64}$' });
const Text = Type.Object({ text: Type.Optional(Type.String()) });
const common = {
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 128 })),
  stop: Type.Optional(Type.Union([Stop, Type.Array(Stop, { maxItems: 4 })])),
  logprobs: None,
};

const ChatOptions = Type.Object({
  ...common,
  max_tokens: Count(1),
  max_completion_tokens: Count(1),
  messages: Type.Array(
    Type.Object({
      role: Type.Optional(Type.Unknown()),
      content: Type.Optional(Type.Union([Type.String(), Type.Null(), Type.Array(Text)])),
    }),
    { minItems: 1 },
  ),
  response_format: Type.Optional(
    Type.Object({
      type: Type.Union([Type.Literal('text'), Type.Literal('json_object'), Type.Literal('json_schema')]),
      json_schema: Type.Optional(Type.Object({ schema: Type.Optional(Type.Unknown()) })),
    }),
  ),
  tools: Type.Optional(
    Type.Array(Type.Object({ function: Type.Object({ name, parameters: Type.Optional(Type.Unknown()) }) })),
  ),
  tool_choice: Type.Optional(
    Type.Union([
      Type.Literal('none'),
      Type.Literal('auto'),
      Type.Literal('required'),
      Type.Object({ function: Type.Object({ name }) }),
    ]),
  ),
  audio: None,
  functions: None,
  function_call: None,
});
const CompletionOptions = Type.Object({
  ...common,
  max_tokens: Count(0),
  max_completion_tokens: Count(0),
  prompt: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: CHOICES_MAX })]),
  echo: None,
  suffix: None,
  best_of: None,
});
const chatOptions = TypeCompiler.Compile(ChatOptions);
const completionOptions = TypeCompiler.Compile(CompletionOptions);

type Choice = { text: string; tokens: number; finishReason: 'stop' | 'length' | 'tool_calls' };

/** What every caller sends, in words. */
const NEEDED: Record<string, string> = {
  messages: "'messages' must be a list with an entry",
  prompt: "'prompt' must be a text or a list of texts",
};

/** Throws 400, which names the member, for invalid and for unsupported options. */
export async function echo({ endpoint, request }: ModelCall): Promise<Answer> {
  const { body, stream, includesUsage } = request;
  // Null is the same as absent.
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const check = endpoint === 'chat' ? chatOptions : completionOptions;
  const mistake = check.Errors(given).First();
  if (mistake !== undefined) {
    const param = mistake.path
      .slice(1)
      .replaceAll(/\/(\d+)/g, '[$1]')
      .replaceAll('/', '.');
    const said = NEEDED[param] ?? `'${param}' is not what ${LOCAL_CHAT_MODEL} takes: ${mistake.message}`;
    throw invalid(param, said);
  }
  const how = { stream, includesUsage };
  return endpoint === 'chat'
    ? echoChat(given as Static<typeof ChatOptions>, how)
    : echoCompletion(given as Static<typeof CompletionOptions>, how);
}

/** 400 for a member with an invalid value. */
export const invalid = (param: string, sentence: string, code = 'invalid_value'): OpenAiRefusal =>
  new OpenAiRefusal('malformed', sentence, { param, code });

type How = { stream: boolean; includesUsage: boolean };

async function echoChat(options: Static<typeof ChatOptions>, how: How): Promise<Answer> {
  const { messages, n = 1, response_format: format } = options;
  const texts = messages.map(({ content }) =>
    Array.isArray(content) ? content.map(({ text = '' }) => text).join('') : (content ?? ''),
  );
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const told = await withQuotes((texts[last] ?? '').slice(0, READ_LENGTH_MAX), texts[last - 1] ?? '');
  const tool = forcedTool(options);
  const { function: { name: called, parameters = { type: 'object' } } = {} } = tool ?? {};
  const text =
    called !== undefined
      ? JSON.stringify(sampleOf(parameters, told, 'tools'))
      : format?.type === 'json_object'
        ? JSON.stringify({ echo: told })
        : format?.type === 'json_schema'
          ? JSON.stringify(sampleOf(schemaOf(format), told, 'response_format.json_schema.schema'))
          : `Echo: ${told}`;
  const choice = cut(text, options, { share: Math.floor(TOKENS_MAX / n), stops: called === undefined });
  if (called !== undefined && choice.finishReason === 'stop') choice.finishReason = 'tool_calls';
  const call = { id: `call_${newRandomId()}`, type: 'function' };
  const saying = (said: string, position?: { index: number }): JsonObject =>
    called === undefined
      ? { content: said }
      : { tool_calls: [{ ...position, ...call, function: { name: called, arguments: said } }] };
  const head = { role: 'assistant', content: null, refusal: null };
  return answer(Array<Choice>(n).fill(choice), how, {
    object: 'chat.completion',
    promptTokens: countTokens(texts),
    whole: (said) => ({ message: { ...head, ...saying(said) } }),
    begin: { delta: { ...head, ...saying('', { index: 0 }) } },
    piece: (said) => ({
      delta:
        called === undefined
          ? { content: said }
          : { tool_calls: [{ index: 0, function: { arguments: said } }] },
    }),
    end: { delta: {} },
  });
}

async function echoCompletion(options: Static<typeof CompletionOptions>, how: How): Promise<Answer> {
  const { n = 1 } = options;
  const prompts = [options.prompt].flat();
  if (prompts.length * n > CHOICES_MAX)
    throw invalid('n', `'n' asks for more than ${CHOICES_MAX} choices in all`);
  const share = Math.floor(TOKENS_MAX / (n * prompts.length));
  const choices = prompts.flatMap((prompt) => {
    const text = `Echo: ${prompt.slice(0, READ_LENGTH_MAX)}`;
    return Array<Choice>(n).fill(cut(text, options, { share, stops: true }));
  });
  const shape = {
    whole: (text: string) => ({ text }),
    piece: (text: string) => ({ text }),
    end: { text: '' },
  };
  return answer(choices, how, { object: 'text_completion', promptTokens: countTokens(prompts), ...shape });
}

function schemaOf({ json_schema: named }: { json_schema?: { schema?: unknown } }): unknown {
  if (named?.schema !== undefined) return named.schema;
  throw invalid('response_format.json_schema', "'response_format.json_schema' must hold a schema");
}

/** The tool that has to be called; undefined where none has to be. Throws 400. */
function forcedTool({ tools = [], tool_choice: choice = 'auto' }: Static<typeof ChatOptions>) {
  if (choice === 'none' || choice === 'auto') return undefined;
  const tool =
    choice === 'required' ? tools[0] : tools.find((each) => each.function.name === choice.function.name);
  return tool ?? invalidTool();
}

const invalidTool = (): never => {
  throw invalid('tool_choice', "'tool_choice' must be none, auto, required or name a function of 'tools'");
};

/** Tokens beyond the longest answer are estimated by their bytes. */
function countTokens(texts: readonly string[]): number {
  const text = texts.join(' ');
  const counted = text.slice(0, READ_LENGTH_MAX).match(TOKEN)?.length ?? 0;
  return counted + estimateTokens(Math.max(0, text.length - READ_LENGTH_MAX));
}

/** The text up to its first stop sequence or its last allowed token, whichever comes first. */
function cut(
  text: string,
  {
    stop = [],
    max_tokens: most,
    max_completion_tokens: mostToo,
  }: Static<typeof CompletionOptions> | Static<typeof ChatOptions>,
  { share, stops }: { share: number; stops: boolean },
): Choice {
  const found = (stops ? [stop].flat() : []).map((each) => text.indexOf(each)).filter((at) => at !== -1);
  const pieces = text.slice(0, Math.min(text.length, ...found)).match(TOKEN) ?? [];
  const kept = pieces.slice(0, Math.min(share, most ?? share, mostToo ?? share));
  const finishReason = kept.length < pieces.length ? 'length' : 'stop';
  return { text: kept.join(''), tokens: kept.length, finishReason };
}

/** How a kind of completion is written: a whole choice, and the chunks of one. */
type Shape = {
  object: string;
  promptTokens: number;
  whole(text: string): JsonObject;
  begin?: JsonObject;
  piece(text: string): JsonObject;
  end: JsonObject;
};

async function answer(
  choices: readonly Choice[],
  { stream, includesUsage }: How,
  shape: Shape,
): Promise<Answer> {
  const completionTokens = choices.reduce((sum, { tokens }) => sum + tokens, 0);
  const { promptTokens, object, begin, end } = shape;
  const total = promptTokens + completionTokens;
  const usage = { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: total };
  const base = {
    id: `${begin === undefined ? 'cmpl' : 'chatcmpl'}-${newRandomId()}`,
    object: stream && begin !== undefined ? `${object}.chunk` : object,
    created: Math.floor(Date.now() / 1000),
    model: LOCAL_CHAT_MODEL,
  };
  const toChoice = (index: number, content: JsonObject, reason: string | null): JsonObject => ({
    index,
    ...content,
    logprobs: null,
    finish_reason: reason,
  });
  if (!stream) {
    const whole = choices.map(({ text, finishReason }, at) => toChoice(at, shape.whole(text), finishReason));
    return {
      kind: 'whole',
      status: 200,
      headers: {},
      bytes: Buffer.from(JSON.stringify({ ...base, choices: whole, usage })),
      usage: { promptTokens, completionTokens, estimated: false },
    };
  }
  const event = (index: number, content: JsonObject, reason: string | null = null): string =>
    toEvent({ ...base, choices: [toChoice(index, content, reason)], ...(includesUsage && { usage: null }) });
  /** The usage always ends a stream: it is accounted for, and hidden from clients that did not ask for it. */
  function* events(): Generator<string> {
    for (const [index, { text, finishReason }] of choices.entries()) {
      if (begin !== undefined) yield event(index, begin);
      for (const [piece] of text.matchAll(TOKEN)) yield event(index, shape.piece(piece));
      yield event(index, end, finishReason);
    }
    yield toEvent({ ...base, choices: [], usage });
    yield DONE;
  }
  async function* blocks(): AsyncGenerator<EventBlock, undefined> {
    let text = '';
    for (const next of events()) {
      text += next;
      if (text.length < BLOCK_LENGTH) continue;
      yield toBlock(Buffer.from(text));
      text = '';
      await nextTimeSlice();
    }
    if (text !== '') yield toBlock(Buffer.from(text));
  }
  const all = blocks();
  return { kind: 'stream', headers: {}, first: (await all.next()).value, blocks: all };
}
