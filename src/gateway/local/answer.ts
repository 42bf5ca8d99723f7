// The built-in models, called like any upstream.

import type { EmbedTexts } from '../../core/embed-texts.ts';
import { OpenAiRefusal } from '../../http/openai-error.ts';
import type { Answer } from '../answer.ts';
import type { Call } from '../model-call.ts';
import { parseWhole } from '../request.ts';
import { echoChat, echoCompletion } from './echo.ts';
import { embedLocally } from './embeddings.ts';
import { LOCAL_CHAT_MODEL } from './models.ts';

/** Throws OpenAiRefusal: 400 for an unsupported request, 503 when the queue is full. */
export type AnswerLocally = (model: string, call: Call) => Promise<Answer>;

export function createLocalModels(embed: EmbedTexts): AnswerLocally {
  return async (model, call) => {
    const body = await parseWhole(call.request);
    if (model !== LOCAL_CHAT_MODEL) return embedLocally(body, { embed, signal: call.signal });
    if (call.endpoint === 'chat') return echoChat(body, call);
    if (call.endpoint === 'completions') return echoCompletion(body, call);
    throw new OpenAiRefusal('malformed', `The model ${model} cannot do this`, { param: 'model' });
  };
}
