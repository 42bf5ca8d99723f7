// The built-in models, called like any upstream. `local-echo` honours the options that clients of real models rely on, so that
// integration and load tests behave the same, and refuses other options by their names.

import type { EmbedTexts } from '../../core/embed-texts.ts';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { Answer } from '../answer.ts';
import { LOCAL_CHAT_MODEL } from '../catalogue/model.ts';
import { ECHO_TOKENS_MAX } from '../limits.ts';
import type { Call } from '../model-call.ts';
import { parseWhole } from '../request.ts';
import { beginningOf, countTokens, cutText, echoMessages, type Said, toldBy } from './echo.ts';
import { embedLocally } from './embeddings.ts';
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
import { readSaying } from './saying.ts';
import { COMPLETION_WIRE, render } from './wire.ts';

/** Throws OpenAiRefusal: 400 for an unsupported request, 503 when the queue is full. */
export type AnswerLocally = (model: string, call: Call) => Promise<Answer>;

export function createLocalModels(embed: EmbedTexts): AnswerLocally {
  return async (model, call) => {
    if (model === LOCAL_CHAT_MODEL && call.messages !== undefined) return echoMessages(call.messages);
    const body = await parseWhole(call.request);
    if (model !== LOCAL_CHAT_MODEL) return embedLocally(body, { embed, signal: call.signal });
    if (call.endpoint === 'chat') return echoChat(body, call);
    if (call.endpoint === 'completions') return echoCompletion(body, call);
    throw new OpenAiRefusal('malformed', `The model ${model} cannot do this`, { param: 'model' });
  };
}

type EchoCall = Pick<Call, 'request' | 'includeUsage'>;

/** Throws 400 for invalid `messages`, and for unsupported options. */
async function echoChat(body: JsonObject, { request: { stream }, includeUsage }: EchoCall): Promise<Answer> {
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid("'messages' must be a list with an entry", 'messages');
  const texts = messages.map(textOfMessage);
  for (const name of ['logprobs', 'audio', 'functions', 'function_call']) refuseMember(body, name);
  const choices = readChoices(body, 1);
  const share = Math.floor(ECHO_TOKENS_MAX / choices);
  const stops = readStops(body);
  const told = await toldBy(texts, messages as JsonObject[]);
  const { wire, text, stoppable, finishReason } = readSaying(body, told);
  const tokensMax = Math.min(share, readTokensMax(body, 1) ?? share);
  const cut = cutText(text, { tokensMax, stops: stoppable ? stops : [] });
  const said = cut.finishReason === 'stop' ? { ...cut, finishReason } : cut;
  const promptTokens = await countTokens(texts);
  return render(Array<Said>(choices).fill(said), { wire, promptTokens, stream, includeUsage });
}

/** Throws 400 for a `prompt` that is neither a text nor a list of texts, and for unsupported options. */
async function echoCompletion(
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
