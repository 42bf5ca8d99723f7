import { valueError } from '../../core/errors.ts';
import type { WakeEventMover } from '../../core/event.ts';
import type { Principal } from '../../core/principal.ts';
import type { TraceContext } from '../../core/trace-context.ts';
import { inRequestTrace } from '../../core/tracing.ts';
import { type Route, route } from '../../http/operation.ts';
import { type AcceptQuestion, toCaller } from '../accept.ts';
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
import type { Session, SessionStore } from '../store/sessions.ts';
import type { Question } from '../store/turns.ts';
import type { SessionKeys } from '../turn.ts';
import {
  ANSWER_EVENTS,
  ANSWERED,
  CHAT,
  replyWithAnswer,
  type ShowCitations,
  sessionNotFound,
} from './answers.ts';

export type ConversationRoutesDeps = {
  sessions: Pick<SessionStore, 'open'>;
  accept: AcceptQuestion;
  show: ShowCitations;
  wakeMover: WakeEventMover;
};

const CHANNEL = '{workspace_id}/{channel}/{channel_plugin}/{channel_id}';

type ChannelKeys = { workspace_id: string; channel: string; channel_plugin: string; channel_id: string };

/** The conversations of bots: only their own events lead there, as only these name the person truly. */
const RESERVED = { channel: 'google_chat', plugin: 'chatapp' };

/** Throws ValidationFailure for keys that are not for channels to use. */
function toKeys(path: ChannelKeys, channelSessionId: string): SessionKeys {
  const { workspace_id: workspaceId, channel, channel_plugin: channelPlugin, channel_id: channelId } = path;
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

type Caller = {
  principal: Principal;
  request: Request;
  trace?: TraceContext | undefined;
  keepPermit?(): () => void;
};

export function conversationRoutes({ sessions, accept, show, wakeMover }: ConversationRoutesDeps): Route[] {
  const answer = async (
    caller: Caller,
    asked: Omit<Question, 'agentId' | 'reach' | 'caller'>,
  ): Promise<Response> => {
    const { principal, request, trace } = caller;
    const by = { agentId: null, reach: principal, caller: toCaller(principal) };
    const accepted = await inRequestTrace(trace, () => accept({ ...asked, ...by }));
    if (accepted === 'no session') throw sessionNotFound();
    const keepPermit = () => caller.keepPermit?.();
    return replyWithAnswer({ request, keepPermit }, accepted, async (answered) => {
      const [shown = answered] = await show(principal, [answered]);
      return shown;
    });
  };
  return [
    route(
      {
        ...CHAT,
        id: 'chat.create-session',
        events: ['chat.create', 'chat.rename'],
        method: 'POST',
        path: `/api/v1/chat/messages/create-chat-session/${CHANNEL}`,
        summary: 'The chat session of a channel, made where it is absent',
        description:
          'The same five keys (workspace, channel, plugin, channel id, channel session) are the same session of the ' +
          "key's owner, with any key of theirs; another persona or agi is kept in it. Another owner's is one of its own.",
        parameters: ChannelPath,
        body: CreateChatSessionRequest,
        bodyExample: SESSION_CREATE_EXAMPLE,
        responses: {
          200: { description: 'The session.', schema: ChatSessionCreated, example: SESSION_CREATED_EXAMPLE },
        },
      },
      async ({ path, body, principal }) => {
        const { channel_session_id: name, agi_id: agiId, persona_id: personaId = 0 } = body;
        const keys = toKeys(path, name);
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
    ),
    route(
      {
        ...CHAT,
        // The model's own time-outs hold.
        noIdleTimeout: true,
        id: 'chat.send-message',
        work: 'model',
        events: ['messages.user.new', ...ANSWER_EVENTS],
        method: 'POST',
        path: `/api/v1/chat/messages/send-message/${CHANNEL}/bychannelsession/{channel_session_id}`,
        summary: 'Send a message into a session and get its answer',
        description:
          'Once for each `channel_user_message_id`: the same again waits for the same answer, or gets it. Messages of a ' +
          'session are answered one by one in order of arrival; at most 8 wait, then 429. After a failure of the model ' +
          'the same message again tries again. Where the agent has knowledge of documents the key needs the scope ' +
          '`documents:read`, too, and answers rest on what its owner may see.',
        parameters: ChannelSessionPath,
        body: SendMessageRequest,
        bodyExample: SEND_EXAMPLE,
        responses: { 200: ANSWERED },
        refusals: [404, 429, 502, 504],
      },
      (input) =>
        answer(input, {
          workspaceId: input.path.workspace_id,
          place: {
            session: toKeys(input.path, input.path.channel_session_id),
            channelMessageId: input.body.channel_user_message_id,
          },
          message: input.body.message,
          channelAnswerId: input.body.channel_assistant_message_id,
        }),
    ),
    route(
      {
        ...CHAT,
        noIdleTimeout: true,
        id: 'chat.edit-message',
        work: 'model',
        events: ['messages.user.update', ...ANSWER_EVENTS],
        method: 'PUT',
        path: '/api/v1/chat/messages/{workspace_id}/{message_id}',
        summary: 'Replace a user message and have it answered anew',
        description: 'The conversation goes on from there; the same change again is led to the same answer.',
        parameters: MessagePath,
        body: MessagePut,
        bodyExample: { message: 'When are you open on Saturdays?' },
        responses: { 200: ANSWERED },
        refusals: [404, 429, 502, 504],
      },
      (input) =>
        answer(input, {
          workspaceId: input.path.workspace_id,
          place: { replaces: input.path.message_id },
          message: input.body.message,
          channelAnswerId: null,
        }),
    ),
  ];
}
