// An answer as its caller gets it, the first time and every other alike: whole, or as a stream of events, with those of
// its citations that the caller may see now.

import { ServiceError } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import { STATUS } from '../../http/failures.ts';
import { answer } from '../../http/input.ts';
import type { RequestState } from '../../http/state.ts';
import { explainOutage } from '../../infra/postgres/client.ts';
import { type AnswerStream, answerInTime } from '../answer-stream.ts';
import { ANSWER_EXAMPLE, ANSWER_STREAM_EXAMPLE } from '../examples.ts';
import { PING_MS } from '../limits.ts';
import { ChatAnswer } from '../schema.ts';
import type { AnsweredTurn, Citation } from '../turn.ts';

/** The key that all operations of conversations need. */
export const CHAT = { key: { in: 'svc-key', scope: 'chat' } } as const;

/** By the kind of the agent that answers. */
export const ANSWER_EVENTS = [
  'messages.rag.persona.new',
  'messages.rag.agent.new',
  'messages.rag.bot.new',
] as const;

const EVENT_STREAM = 'text/event-stream';

export const ANSWERED = answer({
  description:
    'The answer; with `Idempotent-Replayed: true` for every caller but the first. With `Accept: text/event-stream` it comes ' +
    'as it is made: events `start`, `delta` and `citations`, then `end` with this body, or `error` with a status.',
  schema: ChatAnswer,
  example: ANSWER_EXAMPLE,
  stream: ANSWER_STREAM_EXAMPLE,
});

/** The documents among these (by id, of the caller's workspace) that the caller may see; deleted ones are not among them. */
export type VisibleDocuments = (principal: Principal, ids: readonly string[]) => Promise<ReadonlySet<string>>;

/** Rows with those of their citations that the caller may see: one round trip for all of them, none where nothing is cited. */
export type ShowCitations = <Row extends { citations: Citation[] }>(
  principal: Principal,
  rows: readonly Row[],
) => Promise<Row[]>;

export const createShowCitations =
  (visibleDocuments: VisibleDocuments): ShowCitations =>
  async (principal, rows) => {
    const ids = rows.flatMap(({ citations }) => citations.map(({ document_id }) => document_id));
    const visible =
      ids.length > 0 && principal.scopes.has('documents:read')
        ? await visibleDocuments(principal, [...new Set(ids)])
        : new Set<string>();
    return rows.map((row) => ({
      ...row,
      citations: row.citations.filter(({ document_id }) => visible.has(document_id)),
    }));
  };

/** Renders the answer as its caller is shown it. */
export type ShowAnswer = (answered: AnsweredTurn) => Promise<AnsweredTurn>;

/** The whole answer, or a stream if one is requested. Throws the reason why the answer could not be made. */
export async function replyWithAnswer(
  { request, state }: { request: Request; state: Pick<RequestState, 'keepPermit'> },
  { stream, replayed }: { stream: AnswerStream; replayed: boolean },
  show: ShowAnswer,
): Promise<Response> {
  const headers = replayed ? { 'idempotent-replayed': 'true' } : {};
  if (!accepts(request, EVENT_STREAM)) return Response.json(await bodyOf(stream, show), { headers });
  return new Response(streamAnswer(stream, show, state.keepPermit()), {
    headers: {
      'content-type': EVENT_STREAM,
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      ...headers,
    },
  });
}

const bodyOf = async (stream: AnswerStream, show: ShowAnswer): Promise<ChatAnswer> =>
  renderAnswer(await show(await answerInTime(stream)));

const accepts = (request: Request, mediaType: string): boolean =>
  (request.headers.get('accept') ?? '').toLowerCase().includes(mediaType);

const renderAnswer = (answered: AnsweredTurn): ChatAnswer => ({
  chat_session_id: answered.sessionId,
  channel_session_id: answered.channelSessionId,
  message_id: answered.answerId,
  user_message_id: answered.userMessageId,
  channel_user_message_id: answered.channelMessageId,
  channel_assistant_message_id: answered.channelAnswerId,
  answer: answered.message,
  citations: answered.citations,
  model: answered.model,
  finish_reason: answered.finishReason,
  usage: {
    prompt_tokens: answered.promptTokens,
    completion_tokens: answered.completionTokens,
    total_tokens: answered.promptTokens + answered.completionTokens,
  },
  error_msg: null,
  created_at: answered.createdAt.toISOString(),
});

type StreamEvent =
  | { type: 'start'; message_id: number; user_message_id: number }
  | { type: 'delta'; text: string }
  | { type: 'citations'; citations: ChatAnswer['citations'] }
  | ({ type: 'end' } & ChatAnswer)
  | { type: 'error'; error_msg: string; status: number };

const encoder = new TextEncoder();
const PING = encoder.encode(': ping\n\n');
const encode = (event: StreamEvent): Uint8Array => encoder.encode(`data: ${JSON.stringify(event)}\n\n`);

/**
 * Text that is already there is sent at once; a reader that disconnects ends only its own stream. `onOver` is called when the
 * stream has ended, either way.
 */
export function streamAnswer(
  stream: AnswerStream,
  show: ShowAnswer,
  onOver: () => void = () => undefined,
): ReadableStream {
  let leave: () => void = () => undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      let said = false;
      let open = true;
      const { answerId, userMessageId } = stream;
      controller.enqueue(encode({ type: 'start', message_id: answerId, user_message_id: userMessageId }));
      const ping = setInterval(() => controller.enqueue(PING), PING_MS);
      const end = (events: readonly StreamEvent[]): void => {
        if (!open) return;
        for (const event of events) controller.enqueue(encode(event));
        leave();
        controller.close();
      };
      const unfollow = stream.follow((part) => {
        if ('retracted' in part) return end([failed(part.retracted)]);
        said = true;
        controller.enqueue(encode({ type: 'delta', text: part.text }));
      });
      leave = () => {
        open = false;
        onOver();
        clearInterval(ping);
        unfollow();
      };
      bodyOf(stream, show).then(
        (body) => end(lastEvents(body, said)),
        (error: unknown) => end([failed(error)]),
      );
    },
    cancel: () => leave(),
  });
}

const lastEvents = (body: ChatAnswer, said: boolean): StreamEvent[] => [
  ...(said || body.answer === '' ? [] : [{ type: 'delta', text: body.answer } as const]),
  { type: 'citations', citations: body.citations },
  { type: 'end', ...body },
];

function failed(error: unknown): StreamEvent {
  const refusal = error instanceof ServiceError ? error : explainOutage(error);
  if (refusal !== undefined)
    return { type: 'error', error_msg: refusal.message, status: STATUS[refusal.kind] };
  return { type: 'error', error_msg: 'Internal Server Error', status: 500 };
}
