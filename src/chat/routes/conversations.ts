import { Elysia } from 'elysia';
import { valueError } from '../../core/errors.ts';
import type { WakeEventMover } from '../../core/event.ts';
import type { Principal } from '../../core/principal.ts';
import { inRequestTrace } from '../../core/tracing.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import type { RequestState } from '../../http/state.ts';
import type { Answers } from '../answers.ts';
import { SEND_EXAMPLE, SESSION_CREATE_EXAMPLE, SESSION_CREATED_EXAMPLE } from '../examples.ts';
import {
  ChannelPath,
  ChannelSessionPath,
  ChatSessionCreated,
  CreateChatSessionRequest,
  MessagePath,
  MessagePut,
  SendMessageRequest,
} from '../schema.ts';
import type { Session, SessionStore } from '../sessions.ts';
import type { Question, SessionKeys } from '../turn.ts';
import { toCaller } from '../turns.ts';
import { ANSWER_EVENTS, ANSWERED, CHAT, replyWithAnswer, type ShowCitations } from './answers.ts';

const CHANNEL = ':workspace_id/:channel/:channel_plugin/:channel_id';

type ChannelKeys = { workspace_id: string; channel: string; channel_plugin: string; channel_id: string };

/** The conversations of bots: only their own events lead there, as only these name the person truly. */
const RESERVED = { channel: 'google_chat', plugin: 'chatapp' };

/** Throws ValidationFailure for keys that are not for channels to use. */
function toKeys(params: ChannelKeys, channelSessionId: string): SessionKeys {
  const { workspace_id: workspaceId, channel, channel_plugin: channelPlugin, channel_id: channelId } = params;
  if (channel === RESERVED.channel && channelPlugin === RESERVED.plugin)
    throw valueError(
      ['path', 'channel'],
      `${channel} with the plugin ${channelPlugin} is reserved for bots`,
      channel,
    );
  return { workspaceId, channel, channelPlugin, channelId, channelSessionId };
}

const renderCreated = (session: Session, created: boolean): ChatSessionCreated => ({
  chat_session_id: session.id,
  channel_session_id: session.channelSessionId,
  persona_id: session.personaId,
  agi_id: session.agiId,
  workspace_id: session.workspaceId,
  channel: session.channel,
  channel_plugin: session.channelPlugin,
  channel_id: session.channelId,
  created,
  created_at: session.createdAt.toISOString(),
});

type Caller = { principal: Principal; request: Request; state: Pick<RequestState, 'trace' | 'keepPermit'> };

export function conversationRoutes(
  { plugin }: Http,
  { sessions, answers }: { sessions: SessionStore; answers: Answers },
  show: ShowCitations,
  wakeMover: WakeEventMover,
) {
  const reply = async (
    { principal, request, state }: Caller,
    asked: Omit<Question, 'agentId' | 'reach' | 'caller'>,
  ): Promise<Response> => {
    const by = { agentId: null, reach: principal, caller: toCaller(principal) };
    const accepted = await inRequestTrace(state.trace, () => answers.ask({ ...asked, ...by }));
    return replyWithAnswer({ request, state }, accepted, async (answered) => {
      const [shown = answered] = await show(principal, [answered]);
      return shown;
    });
  };
  return new Elysia({ name: 'chat.conversations', prefix: '/api/v1/chat/messages', tags: ['chat'] })
    .use(plugin)
    .post(
      `/create-chat-session/${CHANNEL}`,
      async ({ params, body, principal }) => {
        const { channel_session_id: name, agi_id: agiId, persona_id: personaId = 0 } = body;
        const keys = toKeys(params, name);
        // A URL cannot contain these as a segment, so such a session could not be used.
        if (name === '.' || name === '..')
          throw valueError(['body', 'channel_session_id'], `a session can't be named '${name}'`, name);
        const wanted = { ...keys, personaId, agiId, person: principal.email };
        const { session, created, changed } = await sessions.open(wanted, {
          reach: principal,
          rebinds: true,
        });
        if (changed) wakeMover();
        return renderCreated(session, created);
      },
      {
        ...CHAT,
        events: ['chat.create', 'chat.rename'],
        params: parameters(ChannelPath),
        body: json(CreateChatSessionRequest, { example: SESSION_CREATE_EXAMPLE }),
        response: {
          200: answer({
            description: 'The session.',
            schema: ChatSessionCreated,
            example: SESSION_CREATED_EXAMPLE,
          }),
        },
        detail: {
          operationId: 'chat.create-session',
          summary: 'The chat session of a channel, made where it is absent',
          description:
            'The same five keys (workspace, channel, plugin, channel id, channel session) are the same session of the ' +
            "key's owner, with any key of theirs; another persona or agi is kept in it. Another owner's is one of its own.",
        },
      },
    )
    .post(
      `/send-message/${CHANNEL}/bychannelsession/:channel_session_id`,
      ({ params, body, principal, request, state }) =>
        reply(
          { principal, request, state },
          {
            workspaceId: params.workspace_id,
            place: {
              session: toKeys(params, params.channel_session_id),
              channelMessageId: body.channel_user_message_id,
            },
            message: body.message,
            channelAnswerId: body.channel_assistant_message_id,
          },
        ),
      {
        ...CHAT,
        work: 'model',
        events: ['messages.user.new', ...ANSWER_EVENTS],
        // The model's own time-outs hold.
        noIdleTimeout: true,
        params: parameters(ChannelSessionPath),
        body: json(SendMessageRequest, { example: SEND_EXAMPLE }),
        response: { 200: ANSWERED, ...refusals(404, 429, 502, 504) },
        detail: {
          operationId: 'chat.send-message',
          summary: 'Send a message into a session and get its answer',
          description:
            'Once for each `channel_user_message_id`: the same again waits for the same answer, or gets it. Messages of a ' +
            'session are answered one by one in order of arrival; at most 8 wait, then 429. After a failure of the model ' +
            'the same message again tries again. Where the agent has knowledge of documents the key needs the scope ' +
            '`documents:read`, too, and answers rest on what its owner may see.',
        },
      },
    )
    .put(
      '/:workspace_id/:message_id',
      ({ params, body, principal, request, state }) =>
        reply(
          { principal, request, state },
          {
            workspaceId: params.workspace_id,
            place: { replaces: params.message_id },
            message: body.message,
            channelAnswerId: null,
          },
        ),
      {
        ...CHAT,
        work: 'model',
        events: ['messages.user.update', ...ANSWER_EVENTS],
        noIdleTimeout: true,
        params: parameters(MessagePath),
        body: json(MessagePut, { example: { message: 'When are you open on Saturdays?' } }),
        response: { 200: ANSWERED, ...refusals(404, 429, 502, 504) },
        detail: {
          operationId: 'chat.edit-message',
          summary: 'Replace a user message and have it answered anew',
          description:
            'The conversation goes on from there; the same change again is led to the same answer.',
        },
      },
    );
}
