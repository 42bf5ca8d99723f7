import { Elysia, status } from 'elysia';
import type { WakeEventMover } from '../../core/event.ts';
import type { Principal } from '../../core/principal.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import { PageQuery, pageAnswer, renderCursor, toPage, toPageRequest } from '../../http/paging.ts';
import { MESSAGE_EXAMPLE, PERSON_MESSAGE_EXAMPLE, SESSION_EXAMPLE } from '../examples.ts';
import type { Message, MessageStore } from '../messages.ts';
import {
  AgentMessageCreate,
  ChatMessage,
  ChatMessagePage,
  ChatSession,
  ChatSessionPage,
  InWorkspace,
  SessionPath,
  SessionQuery,
  TitlePatch,
} from '../schema.ts';
import { type Session, type SessionStore, sessionNotFound } from '../sessions.ts';
import { assertMessageSize } from '../turns.ts';
import { CHAT, type ShowCitations } from './answers.ts';

const isId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));

type SessionInput = { params: { workspace_id: string; chat_session_id: number }; principal: Principal };

const toReference = ({ params, principal }: SessionInput) => ({
  workspaceId: params.workspace_id,
  sessionId: params.chat_session_id,
  reach: principal,
});

const renderSession = (session: Session): ChatSession => ({
  chat_session_id: session.id,
  channel_session_id: session.channelSessionId,
  channel: session.channel,
  channel_plugin: session.channelPlugin,
  channel_id: session.channelId,
  persona_id: session.personaId,
  agi_id: session.agiId,
  title: session.title,
  user: session.person,
  message_count: session.messageCount,
  created_at: session.createdAt.toISOString(),
  updated_at: session.updatedAt.toISOString(),
});

const renderMessage = (message: Message): ChatMessage => ({
  message_id: message.id,
  parent_message_id: message.parentId,
  role: message.role,
  message: message.message,
  channel_message_id: message.channelMessageId,
  agent_id: message.agentId,
  citations: message.citations,
  feedback: message.feedback,
  error_msg: message.error,
  created_at: message.createdAt.toISOString(),
});

export const sessionRoutes = (
  { plugin }: Http,
  { sessions, messages }: { sessions: SessionStore; messages: MessageStore },
  show: ShowCitations,
  wakeMover: WakeEventMover,
) =>
  new Elysia({ name: 'chat.sessions', prefix: '/api/v1/chat/sessions/:workspace_id', tags: ['chat'] })
    .use(plugin)
    .get(
      '',
      async ({ params, query, principal }) => {
        const page = toPageRequest(query, isId);
        const channel = query.channel || undefined;
        const of = { workspaceId: params.workspace_id, reach: principal, channel };
        return toPage(await sessions.list(of, page), page.limit, renderSession);
      },
      {
        ...CHAT,
        params: parameters(InWorkspace),
        query: parameters(SessionQuery),
        response: pageAnswer('A page of sessions.', ChatSessionPage, SESSION_EXAMPLE),
        detail: {
          operationId: 'chat.list-sessions',
          summary: 'List chat sessions, newest first',
          description: "Those of the key's owner; for administrators those of the workspace.",
        },
      },
    )
    .patch(
      '/:chat_session_id',
      async ({ params, body, principal }) => {
        const change = { title: body.title, subject: principal.email };
        const renamed = await sessions.rename(toReference({ params, principal }), change);
        if (renamed === undefined) throw sessionNotFound();
        wakeMover();
        return renderSession(renamed);
      },
      {
        ...CHAT,
        events: ['chat.rename'],
        params: parameters(SessionPath),
        body: json(TitlePatch, { example: { title: SESSION_EXAMPLE.title } }),
        response: {
          200: answer({ description: 'The session.', schema: ChatSession, example: SESSION_EXAMPLE }),
          ...refusals(404),
        },
        detail: { operationId: 'chat.rename-session', summary: 'Give a chat session a title' },
      },
    )
    .delete(
      '/:chat_session_id',
      async ({ params, principal }) => {
        if (!(await sessions.delete(toReference({ params, principal }), principal.email)))
          throw sessionNotFound();
        wakeMover();
      },
      {
        ...CHAT,
        events: ['chat.delete'],
        params: parameters(SessionPath),
        response: { 204: answer({ description: 'Deleted; no content.' }), ...refusals(404) },
        detail: {
          operationId: 'chat.delete-session',
          summary: 'Delete a chat session with its messages',
          description: 'The same five keys make a new session.',
        },
      },
    )
    .get(
      '/:chat_session_id/messages',
      async ({ params, query, principal }) => {
        const { limit, after } = toPageRequest(query, isId);
        const reference = toReference({ params, principal });
        const { rows, more } = await messages.list(reference, { limit, afterId: Number(after?.id ?? 0) });
        const last = rows.at(-1);
        if (last === undefined && !(await sessions.exists(reference))) throw sessionNotFound();
        const items = (await show(principal, rows)).map(renderMessage);
        return { items, next_cursor: more && last !== undefined ? renderCursor(last) : null };
      },
      {
        ...CHAT,
        params: parameters(SessionPath),
        query: parameters(PageQuery),
        response: {
          ...pageAnswer('A page of messages.', ChatMessagePage, MESSAGE_EXAMPLE),
          ...refusals(404),
        },
        detail: {
          operationId: 'chat.list-messages',
          summary: 'The messages of a chat session in order of arrival',
          description:
            'All branches: `parent_message_id` says what each follows. Answers that are being made are not there yet.',
        },
      },
    )
    .post(
      '/:chat_session_id/agent-messages',
      async ({ params, body, principal }) => {
        assertMessageSize(body.message);
        const words = { message: body.message, agentId: body.agent_id, subject: principal.email };
        const added = await messages.addOfPerson(toReference({ params, principal }), words);
        if (added === undefined) throw sessionNotFound();
        wakeMover();
        return status(201, renderMessage(added));
      },
      {
        ...CHAT,
        events: ['messages.agent.new'],
        params: parameters(SessionPath),
        body: json(AgentMessageCreate, {
          example: { message: PERSON_MESSAGE_EXAMPLE.message, agent_id: PERSON_MESSAGE_EXAMPLE.agent_id },
        }),
        response: {
          201: answer({ description: 'The message.', schema: ChatMessage, example: PERSON_MESSAGE_EXAMPLE }),
          ...refusals(404),
        },
        detail: { operationId: 'chat.add-agent-message', summary: 'A person of the company answers' },
      },
    );
