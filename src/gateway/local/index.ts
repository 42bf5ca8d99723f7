// The built-in models, called like any upstream.

import type { EmbedTexts } from '../../core/embed-texts.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { Answer } from '../answer.ts';
import { LOCAL_CHAT_MODEL } from '../catalogue/model.ts';
import type { Call } from '../model-call.ts';
import { echoChat, echoCompletion } from './echo.ts';
import { embedLocally } from './embeddings.ts';

/** Throws OpenAiRefusal: 400 for an unsupported request, 503 when the queue is full. */
export async function answerLocally(model: string, call: Call, embed: EmbedTexts): Promise<Answer> {
  const { endpoint, request, includeUsage } = call;
  const { body, stream } = request;
  if (model !== LOCAL_CHAT_MODEL) return embedLocally(body, { embed, signal: call.signal });
  if (endpoint === 'chat') return echoChat(body, { stream, includeUsage });
  if (endpoint === 'completions') return echoCompletion(body, { stream, includeUsage });
  throw new OpenAiRefusal('malformed', `The model ${model} cannot do this`, { param: 'model' });
}
