// `local-echo` repeats its input, word by word. It honours the options that clients of real models rely on, so that
// integration and load tests behave the same, and refuses other options by their names.

import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Answer } from '../answer.ts';
import { ECHO_STOP_LENGTH_MAX, ECHO_TOKENS_MAX } from '../limits.ts';
import type { Call } from '../model-call.ts';
import {
  given,
  invalid,
  readChoices,
  readFlag,
  readStops,
  readText,
  readTokensMax,
  refuseMember,
} from './options.ts';
import { readSaying, withQuotes } from './saying.ts';
import { countTokens, firstTokens, unitsOf } from './tokens.ts';
import { COMPLETION_WIRE, render, type Said } from './wire.ts';

type EchoCall = Pick<Call, 'request' | 'includeUsage'>;

/** Throws 400 for invalid `messages`, and for unsupported options. */
export async function echoChat(
  body: JsonObject,
  { request: { stream }, includeUsage }: EchoCall,
): Promise<Answer> {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid("'messages' must be a list with an entry", 'messages');
  const texts = messages.map(textOfMessage);
  for (const name of ['logprobs', 'audio', 'functions', 'function_call']) refuseMember(body, name);
  const choices = readChoices(body, 1);
  const share = Math.floor(ECHO_TOKENS_MAX / choices);
  const spoken = messages.findLastIndex((message) => (message as JsonObject)['role'] === 'user');
  const stops = readStops(body);
  const told = withQuotes(beginningOf(texts[spoken] ?? ''), texts[spoken - 1] ?? '');
  const { wire, text, stoppable, finishReason } = readSaying(body, told);
  const tokensMax = Math.min(share, readTokensMax(body, 1) ?? share);
  const cut = cutText(text, { tokensMax, stops: stoppable ? stops : [] });
  const said = cut.finishReason === 'stop' ? { ...cut, finishReason } : cut;
  const promptTokens = await countTokens(texts);
  return render(Array<Said>(choices).fill(said), { wire, promptTokens, stream, includeUsage });
}

/** Throws 400 for a `prompt` that is neither a text nor a list of texts, and for unsupported options. */
export async function echoCompletion(
  body: JsonObject,
  { request: { stream }, includeUsage }: EchoCall,
): Promise<Answer> {
  const prompts = typeof body['prompt'] === 'string' ? [body['prompt']] : body['prompt'];
  if (!isTexts(prompts) || prompts.length === 0)
    throw invalid("'prompt' must be a text or a list of texts", 'prompt');
  refuseMember(body, 'logprobs');
  const choices = readChoices(body, prompts.length);
  const share = Math.floor(ECHO_TOKENS_MAX / (choices * prompts.length));
  const options = {
    share,
    tokensMax: Math.min(share, readTokensMax(body, 0) ?? share),
    stops: readStops(body),
    repeats: readFlag(body, 'echo'),
  };
  const said = prompts.flatMap((prompt) => Array<Said>(choices).fill(continuePrompt(prompt, options)));
  const promptTokens = await countTokens([...prompts, readText(body, 'suffix')]);
  return render(said, { wire: COMPLETION_WIRE, promptTokens, stream, includeUsage });
}

/** A prompt that is repeated at the start of the answer counts towards the answer's limit. */
function continuePrompt(
  prompt: string,
  options: { share: number; tokensMax: number; stops: string[]; repeats: boolean },
): Said {
  const { share, tokensMax, stops, repeats } = options;
  const text = `Echo: ${beginningOf(prompt)}`;
  if (!repeats) return cutText(text, { tokensMax, stops });
  const head = cutText(prompt, { tokensMax: share, stops: [] });
  if (head.finishReason === 'length') return { ...head, tokens: 0 };
  const rest = cutText(text, { tokensMax: Math.min(tokensMax, share - head.tokens), stops });
  return { ...rest, text: head.text + rest.text };
}

/** The text up to its first stop sequence or its last allowed token, whichever comes first. */
function cutText(text: string, { tokensMax, stops }: { tokensMax: number; stops: readonly string[] }): Said {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
  const stopped = found.length === 0 ? text : text.slice(0, Math.min(...found));
  const first = firstTokens(stopped, tokensMax);
  return { ...first, finishReason: first.text.length < stopped.length ? 'length' : 'stop' };
}

/** More of a text than an answer can hold is not looked at. */
const beginningOf = (text: string): string => text.slice(0, unitsOf(ECHO_TOKENS_MAX) + ECHO_STOP_LENGTH_MAX);

const isTexts = (value: Json | undefined): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

function textOfMessage(message: Json, index: number): string {
  if (!isObject(message)) throw invalid(`'messages[${index}]' must be an object`, `messages[${index}]`);
  const content = given(message['content']);
  if (typeof content === 'string') return content;
  if (content === undefined) return '';
  if (!Array.isArray(content))
    throw invalid(
      `'messages[${index}].content' must be a text or a list of parts`,
      `messages[${index}].content`,
    );
  return content
    .map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}
