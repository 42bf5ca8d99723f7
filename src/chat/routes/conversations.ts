import { type Route, route } from '../../http/operation.ts';
import { SEND_EXAMPLE, SESSION_CREATE_EXAMPLE, SESSION_CREATED_EXAMPLE } from '../examples.ts';
import type { createCreateSession } from '../operations/create-session.ts';
import type { createSendMessage } from '../operations/send-message.ts';
import {
  ChannelPath,
  ChannelSessionPath,
  ChatSessionCreated,
  CreateChatSessionRequest,
  MessagePath,
  MessagePut,
  SendMessageRequest,
} from '../schema.ts';
import { ANSWER_EVENTS, ANSWERED, CHAT, replyWithAnswer } from './answers.ts';

export type ConversationRoutesDeps = {
  createSession: ReturnType<typeof createCreateSession>;
  messages: ReturnType<typeof createSendMessage>;
};

const CHANNEL = '{workspace_id}/{channel}/{channel_plugin}/{channel_id}';

type ChannelKeys = { workspace_id: string; channel: string; channel_plugin: string; channel_id: string };

const toKeys = (path: ChannelKeys, channelSessionId: string) => ({
  workspaceId: path.workspace_id,
  channel: path.channel,
  channelPlugin: path.channel_plugin,
  channelId: path.channel_id,
  channelSessionId,
});

export function conversationRoutes(deps: ConversationRoutesDeps): Route[] {
  const { createSession, messages } = deps;
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
          200: {
            description: 'The session.',
            schema: ChatSessionCreated,
            example: SESSION_CREATED_EXAMPLE,
          },
        },
      },
      ({ path, body, principal }) =>
        createSession(principal, {
          keys: toKeys(path, body.channel_session_id),
          personaId: body.persona_id ?? 0,
          agiId: body.agi_id,
        }),
    ),
    route(
      {
        ...CHAT,
        // The model's own time-outs hold.
        noIdleTimeout: true,
        id: 'chat.send-message',
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
      async ({ path, body, principal, request }) =>
        replyWithAnswer(
          request,
          await messages.send(principal, toKeys(path, path.channel_session_id), {
            message: body.message,
            channelMessageId: body.channel_user_message_id,
            channelAnswerId: body.channel_assistant_message_id,
          }),
        ),
    ),
    route(
      {
        ...CHAT,
        noIdleTimeout: true,
        id: 'chat.edit-message',
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
      async ({ path, body, principal, request }) =>
        replyWithAnswer(
          request,
          await messages.edit(
            principal,
            { workspaceId: path.workspace_id, messageId: path.message_id },
            body.message,
          ),
        ),
    ),
  ];
}
