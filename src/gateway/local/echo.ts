// `local-echo`: says what it was told, word by word.

import { newRandomId } from '../../core/ids.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { Answer } from '../answer.ts';
import type { Call } from '../attempt.ts';
import { blocksOf } from '../events.ts';
import { estimateTokens, type Usage } from '../usage.ts';
import type { Json, JsonObject } from '../wire.ts';
import { LOCAL_CHAT_MODEL } from './models.ts';

type EchoCall = Pick<Call, 'stream' | 'includeUsage'>;

/** Throws 400 for `messages` that are none. */
export function echoChat(body: JsonObject, call: EchoCall): Answer {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid("'messages' must be a list with an entry", 'messages');
  const texts = messages.map((message, index) => textOfMessage(message, index));
  const spoken = messages.findLastIndex((message) => (message as JsonObject)['role'] === 'user');
  const { words, finishReason } = cut(`Echo: ${texts[spoken] ?? ''}`, body);
  const usage = toUsage(texts.join(''), words.join(''));
  const base = { id: `chatcmpl-${newRandomId()}`, created: nowSeconds(), model: LOCAL_CHAT_MODEL };
  if (!call.stream) {
    return whole(usage, {
      ...{ ...base, object: 'chat.completion', usage: toWire(usage) },
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: words.join(''), refusal: null },
          logprobs: null,
          finish_reason: finishReason,
        },
      ],
    });
  }
  const chunk = (delta: JsonObject, reason: string | null): JsonObject => ({
    ...{ ...base, object: 'chat.completion.chunk' },
    choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
    ...(call.includeUsage ? { usage: null } : {}),
  });
  return stream([
    chunk({ role: 'assistant', content: '', refusal: null }, null),
    ...words.map((word) => chunk({ content: word }, null)),
    chunk({}, finishReason),
    ...(call.includeUsage
      ? [{ ...base, object: 'chat.completion.chunk', choices: [], usage: toWire(usage) }]
      : []),
  ]);
}

/** Throws 400 for a `prompt` that is neither a text nor a list of texts. */
export function echoCompletion(body: JsonObject, call: EchoCall): Answer {
  const prompts = typeof body['prompt'] === 'string' ? [body['prompt']] : body['prompt'];
  if (!isTexts(prompts) || prompts.length === 0)
    throw invalid("'prompt' must be a string or a list of strings", 'prompt');
  const answers = prompts.map((prompt) => cut(`Echo: ${prompt}`, body));
  const usage = toUsage(prompts.join(''), answers.flatMap(({ words }) => words).join(''));
  const base = {
    id: `cmpl-${newRandomId()}`,
    object: 'text_completion',
    created: nowSeconds(),
    model: LOCAL_CHAT_MODEL,
  };
  const choice = (index: number, text: string, reason: string | null): JsonObject => ({
    ...{ index, text, logprobs: null, finish_reason: reason },
  });
  if (!call.stream) {
    const choices = answers.map(({ words, finishReason }, index) =>
      choice(index, words.join(''), finishReason),
    );
    return whole(usage, { ...base, choices, usage: toWire(usage) });
  }
  return stream([
    ...answers.flatMap(({ words, finishReason }, index) => [
      ...words.map((word) => ({ ...base, choices: [choice(index, word, null)] })),
      { ...base, choices: [choice(index, '', finishReason)] },
    ]),
    ...(call.includeUsage ? [{ ...base, choices: [], usage: toWire(usage) }] : []),
  ]);
}

const invalid = (sentence: string, param: string) => new OpenAiRefusal('malformed', sentence, { param });

const isTexts = (value: Json | undefined): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

function textOfMessage(message: Json, index: number): string {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw invalid(`'messages[${index}]' must be an object`, `messages[${index}]`);
  }
  const { content } = message;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => ((part as JsonObject | null)?.['text'] as string | undefined) ?? '').join('');
}

/** Words with the blanks behind them, as many as may be. */
function cut(text: string, body: JsonObject): { words: string[]; finishReason: string } {
  const words = text.match(/\s*\S+\s*/g) ?? [text];
  const most = body['max_completion_tokens'] ?? body['max_tokens'];
  if (typeof most !== 'number' || words.length <= most) return { words, finishReason: 'stop' };
  return { words: words.slice(0, Math.max(0, most)), finishReason: 'length' };
}

const toUsage = (prompt: string, answer: string): Usage => ({
  promptTokens: estimateTokens(Buffer.byteLength(prompt)),
  completionTokens: estimateTokens(Buffer.byteLength(answer)),
  estimated: false,
});

const toWire = ({ promptTokens, completionTokens }: Usage): JsonObject => ({
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  total_tokens: promptTokens + completionTokens,
});

const whole = (usage: Usage, body: JsonObject): Answer => ({
  ...{ kind: 'whole', status: 200, headers: {}, usage },
  bytes: Buffer.from(JSON.stringify(body)),
});

function stream(chunks: JsonObject[]): Answer {
  const [first = '', ...texts] = chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`);
  return {
    ...{ kind: 'stream', headers: {}, first: Buffer.from(first) },
    blocks: blocksOf([...texts, 'data: [DONE]\n\n']),
    settle: () => undefined,
    touch: () => undefined,
    rest: () => undefined,
    expired: () => undefined,
  };
}
