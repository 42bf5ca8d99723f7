import { reply } from '../../http/operation.ts';
import type { ResponseSpec } from '../../http/schemas.ts';
import { type Accepted, answerInTime } from '../accept.ts';
import { ANSWER_EXAMPLE, ANSWER_STREAM_EXAMPLE } from '../examples.ts';
import { renderAnswer, streamAnswer } from '../replay.ts';
import { ChatAnswer } from '../schema.ts';

/** The parts that all operations of conversations share. */
export const CHAT = { area: 'chat', credential: 'svc-key', scope: 'chat' } as const;

/** By the kind of the agent that answers. */
export const ANSWER_EVENTS = [
  'messages.rag.persona.new',
  'messages.rag.agent.new',
  'messages.rag.bot.new',
] as const;

const EVENT_STREAM = 'text/event-stream';

export const ANSWERED: ResponseSpec = {
  description:
    'The answer; with `Idempotent-Replayed: true` for every caller but the first. With `Accept: text/event-stream` it comes ' +
    'as it is made: events `start`, `delta` and `citations`, then `end` with this body, or `error` with a status.',
  schema: ChatAnswer,
  example: ANSWER_EXAMPLE,
  stream: ANSWER_STREAM_EXAMPLE,
};

/** The whole answer, or a stream if one is requested. Throws the reason why the answer could not be made. */
export async function replyWithAnswer(
  request: Request,
  { answerStream, replayed }: Accepted,
): Promise<Response> {
  const headers = replayed ? { 'idempotent-replayed': 'true' } : {};
  if (!accepts(request, EVENT_STREAM))
    return reply(200, renderAnswer(await answerInTime(answerStream)), headers);
  return new Response(streamAnswer(answerStream), {
    headers: {
      'content-type': EVENT_STREAM,
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      ...headers,
    },
  });
}

const accepts = (request: Request, mediaType: string): boolean =>
  (request.headers.get('accept') ?? '').toLowerCase().includes(mediaType);
