// The built-in model `local-echo` repeats its input. It honours the options that clients of real models rely on and refuses
// other options by name, so that integration and load tests behave as with a real model.

import { newRandomId } from '../../core/ids.ts';
import { isObject, isRawNumber, type Json, type JsonObject } from '../../core/json.ts';
import { createPauses, nextTimeSlice } from '../../core/time-slices.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { Answer, StreamAnswer } from '../answer.ts';
import { LOCAL_CHAT_MODEL } from '../catalogue/model.ts';
import { DONE, type EventBlock, toBlock, toEvent } from '../events.ts';
import {
  ECHO_CHOICES_MAX,
  ECHO_STOP_LENGTH_MAX,
  ECHO_STOPS_MAX,
  ECHO_TOKENS_MAX,
  STREAM_BLOCK_UNITS,
} from '../limits.ts';
import { withQuotes } from './quotes.ts';
import { NoSample, sampleOf } from './sample.ts';

type EchoCall = { stream: boolean; includeUsage: boolean };
type Choice = { text: string; tokens: number; finishReason: 'stop' | 'length' | 'tool_calls' };

/** Throws 400 for invalid `messages`, and for unsupported options. */
export async function echoChat(body: JsonObject, call: EchoCall): Promise<Answer> {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid('messages', "'messages' must be a list with an entry");
  const texts = messages.map(textOfMessage);
  for (const name of ['logprobs', 'audio', 'functions', 'function_call']) refuseMember(body, name);
  const count = readChoices(body, 1);
  const share = Math.floor(ECHO_TOKENS_MAX / count);
  const stops = readStops(body);
  const last = messages.findLastIndex((each) => (each as JsonObject)['role'] === 'user');
  const told = await withQuotes(beginningOf(texts[last] ?? ''), texts[last - 1] ?? '');
  const tool = readForcedTool(body);
  const text = tool === undefined ? formatted(body, told) : sample(tool.parameters, told, tool.param);
  const tokensMax = Math.min(
    share,
    readCount(body, 'max_tokens', 1),
    readCount(body, 'max_completion_tokens', 1),
  );
  const choice = cut(text, tokensMax, tool === undefined ? stops : []);
  if (tool !== undefined && choice.finishReason === 'stop') choice.finishReason = 'tool_calls';
  return answer(Array<Choice>(count).fill(choice), chatShape(tool?.name), {
    ...call,
    promptTokens: await countTokens(texts),
  });
}

/** Throws 400 for a `prompt` that is neither a text nor a list of texts, and for unsupported options. */
export async function echoCompletion(body: JsonObject, call: EchoCall): Promise<Answer> {
  const prompts = typeof body['prompt'] === 'string' ? [body['prompt']] : body['prompt'];
  if (!Array.isArray(prompts) || prompts.length === 0 || !prompts.every((each) => typeof each === 'string'))
    throw invalid('prompt', "'prompt' must be a text or a list of texts");
  refuseMember(body, 'logprobs');
  const count = readChoices(body, prompts.length);
  const share = Math.floor(ECHO_TOKENS_MAX / (count * prompts.length));
  const tokensMax = Math.min(
    share,
    readCount(body, 'max_tokens', 0),
    readCount(body, 'max_completion_tokens', 0),
  );
  const stops = readStops(body);
  const repeats = read(body, 'echo', 'boolean') === true;
  const choices = prompts.flatMap((prompt) => {
    const text = `Echo: ${beginningOf(prompt)}`;
    if (!repeats) return Array<Choice>(count).fill(cut(text, tokensMax, stops));
    // A repeated prompt counts towards the limit of the answer, and not as generated.
    const head = cut(prompt, share, []);
    const rest = cut(text, Math.min(tokensMax, share - head.tokens), stops);
    const isCut = head.finishReason === 'length';
    return Array<Choice>(count).fill(
      isCut ? { ...head, tokens: 0 } : { ...rest, text: head.text + rest.text },
    );
  });
  const promptTokens = await countTokens([...prompts, String(read(body, 'suffix', 'string') ?? '')]);
  return answer(choices, COMPLETION, { ...call, promptTokens });
}

/** 400 for a member with an invalid value. */
export const invalid = (param: string, sentence: string): OpenAiRefusal =>
  new OpenAiRefusal('malformed', sentence, { param, code: 'invalid_value' });

const unsupported = (param: string, sentence: string): OpenAiRefusal =>
  new OpenAiRefusal('malformed', sentence, { param, code: 'unsupported_parameter' });

/** A member of this type; undefined where it is absent or null. Throws 400. */
function read(body: JsonObject, name: string, type: 'boolean' | 'string'): Json | undefined {
  const value = body[name] ?? undefined;
  if (value !== undefined && typeof value !== type) throw invalid(name, `'${name}' must be a ${type}`);
  return value;
}

function refuseMember(body: JsonObject, name: string): void {
  const value = body[name] ?? false;
  if (value !== false) throw unsupported(name, `local-echo has no '${name}'`);
}

/** Infinity where the member is absent. Throws 400. */
function readCount(body: JsonObject, name: string, least: number, most = Number.POSITIVE_INFINITY): number {
  const value = body[name] ?? undefined;
  if (value === undefined) return Number.POSITIVE_INFINITY;
  const number = isRawNumber(value) ? Number(value.rawJSON) : value;
  if (typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most)
    return number;
  throw invalid(
    name,
    `'${name}' must be an integer from ${least}${Number.isFinite(most) ? ` to ${most}` : ''}`,
  );
}

/** Choices for each prompt. Throws 400 where there are too many in all. */
function readChoices(body: JsonObject, prompts: number): number {
  const [n, best] = ['n', 'best_of'].map((name) => readCount(body, name, 1, 128)) as [number, number];
  const choices = Number.isFinite(n) ? n : 1;
  if (best < choices) throw invalid('best_of', "'best_of' must not be less than 'n'");
  if (prompts * choices <= ECHO_CHOICES_MAX) return choices;
  const param = prompts > ECHO_CHOICES_MAX ? 'prompt' : 'n';
  throw invalid(param, `'${param}' asks for more than ${ECHO_CHOICES_MAX} choices in all`);
}

function readStops({ stop }: JsonObject): string[] {
  const stops = [stop ?? []].flat();
  if (stops.length > ECHO_STOPS_MAX) throw invalid('stop', `'stop' may hold ${ECHO_STOPS_MAX} texts at most`);
  for (const each of stops)
    if (typeof each !== 'string' || each === '' || each.length > ECHO_STOP_LENGTH_MAX)
      throw invalid(
        'stop',
        `'stop' must be a text or a list of texts of 1 to ${ECHO_STOP_LENGTH_MAX} characters`,
      );
  return stops as string[];
}

function textOfMessage(message: Json, index: number): string {
  if (!isObject(message)) throw invalid(`messages[${index}]`, `'messages[${index}]' must be an object`);
  const content = message['content'] ?? '';
  if (typeof content === 'string') return content;
  const param = `messages[${index}].content`;
  if (!Array.isArray(content)) throw invalid(param, `'${param}' must be a text or a list of parts`);
  return content
    .map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** A text, or JSON where `response_format` asks for it. Throws 400. */
function formatted(body: JsonObject, told: string): string {
  const format = body['response_format'] ?? { type: 'text' };
  const { type, json_schema: named } = isObject(format) ? format : {};
  if (type === 'text') return `Echo: ${told}`;
  if (type === 'json_object') return JSON.stringify({ echo: told });
  if (type !== 'json_schema')
    throw invalid('response_format', "'response_format.type' must be text, json_object or json_schema");
  const param = 'response_format.json_schema';
  const schema = isObject(named) ? (named['schema'] ?? undefined) : undefined;
  if (schema === undefined) throw invalid(param, `'${param}' must hold a schema`);
  return sample(schema, told, `${param}.schema`);
}

/** A value that satisfies the schema, as JSON, with the beginning of the input where it wants a text. */
function sample(schema: Json, told: string, param: string): string {
  try {
    return JSON.stringify(sampleOf(schema, told.slice(0, ECHO_STOP_LENGTH_MAX)));
  } catch (error) {
    if (!(error instanceof NoSample)) throw error;
    throw unsupported(param, `local-echo can make no value for '${param}': the schema ${error.message}`);
  }
}

/** The tool that has to be called; undefined where none has to be. Throws 400. */
function readForcedTool(body: JsonObject) {
  const choice = body['tool_choice'] ?? 'auto';
  if (choice === 'none' || choice === 'auto') return undefined;
  const list = body['tools'] ?? [];
  if (!Array.isArray(list)) throw invalid('tools', "'tools' must be a list");
  const tools = list.map((tool, index) => {
    const called = isObject(tool) && tool['type'] === 'function' ? tool['function'] : undefined;
    const { name, parameters } = isObject(called) ? called : {};
    if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name))
      throw invalid(
        `tools[${index}]`,
        `'tools[${index}]' must be a function with a name of 1 to 64 letters, digits, _ and -`,
      );
    return {
      name,
      parameters: parameters ?? { type: 'object' },
      param: `tools[${index}].function.parameters`,
    };
  });
  const { name: wanted } = isObject(choice) && isObject(choice['function']) ? choice['function'] : {};
  const tool = choice === 'required' ? tools[0] : tools.find(({ name }) => name === wanted);
  if (tool === undefined)
    throw invalid('tool_choice', "'tool_choice' must be none, auto, required or name a function of 'tools'");
  return tool;
}

/** UTF-16 units of the longest token: a word and the blanks behind it, long words in pieces. */
const TOKEN_LENGTH_MAX = 16;

/** Input beyond what an answer can hold is not read. */
const beginningOf = (text: string): string =>
  text.slice(0, ECHO_TOKENS_MAX * (TOKEN_LENGTH_MAX + 1) + ECHO_STOP_LENGTH_MAX);

const isBlank = (code: number): boolean => code <= 0x20 || code === 0xa0 || code === 0x3000;

/** The offset behind the token at `start`. */
function endOfToken(text: string, start: number): number {
  const most = Math.min(text.length, start + TOKEN_LENGTH_MAX);
  let blank = false;
  let at = start;
  for (; at < most; at++) {
    const next = isBlank(text.charCodeAt(at));
    if (blank && !next) return at;
    blank = next;
  }
  const splitsPair = at < text.length && (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  return splitsPair ? at + 1 : at;
}

async function countTokens(texts: readonly string[]): Promise<number> {
  const pause = createPauses();
  let count = 0;
  for (const text of texts)
    for (let at = 0; at < text.length; count++) {
      at = endOfToken(text, at);
      if (count % 4096 === 0) await pause();
    }
  return count;
}

/** The text up to its first stop sequence or its last allowed token, whichever comes first. */
function cut(text: string, tokensMax: number, stops: readonly string[]): Choice {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
  const end = Math.min(text.length, ...found);
  let [tokens, at] = [0, 0];
  for (; tokens < tokensMax && at < end; tokens++) at = Math.min(end, endOfToken(text, at));
  return { text: text.slice(0, at), tokens, finishReason: at < end ? 'length' : 'stop' };
}

/** How a kind of completion is written: a whole choice, and the chunks of one. */
type Shape = {
  prefix: string;
  object: string;
  chunk: string;
  whole(text: string): JsonObject;
  begin?: JsonObject;
  piece(text: string): JsonObject;
  end: JsonObject;
};

const COMPLETION: Shape = {
  prefix: 'cmpl',
  object: 'text_completion',
  chunk: 'text_completion',
  whole: (text) => ({ text }),
  piece: (text) => ({ text }),
  end: { text: '' },
};

/** With a tool the text is the arguments of its call. */
function chatShape(tool: string | undefined): Shape {
  const id = `call_${newRandomId()}`;
  const message = (text: string, position?: { index: number }): JsonObject =>
    tool === undefined
      ? { role: 'assistant', content: text, refusal: null }
      : {
          role: 'assistant',
          content: null,
          refusal: null,
          tool_calls: [{ ...position, id, type: 'function', function: { name: tool, arguments: text } }],
        };
  const piece = (text: string): JsonObject =>
    tool === undefined ? { content: text } : { tool_calls: [{ index: 0, function: { arguments: text } }] };
  return {
    prefix: 'chatcmpl',
    object: 'chat.completion',
    chunk: 'chat.completion.chunk',
    whole: (text) => ({ message: message(text) }),
    begin: { delta: message('', { index: 0 }) },
    piece: (text) => ({ delta: piece(text) }),
    end: { delta: {} },
  };
}

function answer(
  choices: readonly Choice[],
  shape: Shape,
  { stream, includeUsage, promptTokens }: EchoCall & { promptTokens: number },
): Answer {
  const completionTokens = choices.reduce((sum, { tokens }) => sum + tokens, 0);
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
  const base = {
    id: `${shape.prefix}-${newRandomId()}`,
    object: stream ? shape.chunk : shape.object,
    created: Math.floor(Date.now() / 1000),
    model: LOCAL_CHAT_MODEL,
  };
  const toChoice = (index: number, content: JsonObject, reason: string | null): JsonObject => ({
    index,
    ...content,
    logprobs: null,
    finish_reason: reason,
  });
  /** The usage always ends a stream: it is accounted for, and hidden from clients that did not ask for it. */
  function* events(): Generator<string> {
    const event = (content: JsonObject, index: number, reason: string | null = null): string =>
      toEvent({ ...base, choices: [toChoice(index, content, reason)], ...(includeUsage && { usage: null }) });
    for (const [index, { text, finishReason }] of choices.entries()) {
      if (shape.begin !== undefined) yield event(shape.begin, index);
      for (let at = 0, end = 0; at < text.length; at = end) {
        end = endOfToken(text, at);
        yield event(shape.piece(text.slice(at, end)), index);
      }
      yield event(shape.end, index, finishReason);
    }
    yield toEvent({ ...base, choices: [], usage });
    yield DONE;
  }
  if (stream) return toStream(events());
  const whole = choices.map(({ text, finishReason }, index) =>
    toChoice(index, shape.whole(text), finishReason),
  );
  return {
    kind: 'whole',
    status: 200,
    headers: {},
    bytes: Buffer.from(JSON.stringify({ ...base, choices: whole, usage })),
    usage: { promptTokens, completionTokens, estimated: false },
  };
}

/** Makes the events as they are read, a block in each time slice, so that a long stream does not delay other requests. */
function toStream(events: Generator<string>): StreamAnswer {
  const nextBlock = (): EventBlock | undefined => {
    let text = '';
    for (let next = events.next(); next.done !== true; next = events.next()) {
      text += next.value;
      if (text.length >= STREAM_BLOCK_UNITS) break;
    }
    return text === '' ? undefined : toBlock(Buffer.from(text));
  };
  return {
    kind: 'stream',
    headers: {},
    first: nextBlock(),
    blocks: {
      async next() {
        await nextTimeSlice();
        return nextBlock();
      },
      cancel: () => void events.return(undefined),
    },
    end: () => undefined,
  };
}
