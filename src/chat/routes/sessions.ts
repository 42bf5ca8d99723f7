import type { WakeEventMover } from '../../core/event.ts';
import type { Principal } from '../../core/principal.ts';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, renderCursor, toPage, toPageRequest } from '../../http/paging.ts';
import { assertMessageSize } from '../accept.ts';
import { MESSAGE_EXAMPLE, PERSON_MESSAGE_EXAMPLE, SESSION_EXAMPLE } from '../examples.ts';
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
import type { Message, MessageStore } from '../store/messages.ts';
import type { Session, SessionStore } from '../store/sessions.ts';
import { CHAT, type ShowCitations, sessionNotFound } from './answers.ts';

export type SessionRoutesDeps = {
  sessions: SessionStore;
  messages: MessageStore;
  show: ShowCitations;
  wakeMover: WakeEventMover;
};

const COLLECTION = '/api/v1/chat/sessions/{workspace_id}';
const ITEM = `${COLLECTION}/{chat_session_id}`;

const isId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));

type SessionInput = { path: { workspace_id: string; chat_session_id: number }; principal: Principal };

const toReference = ({ path, principal }: SessionInput) => ({
  workspaceId: path.workspace_id,
  sessionId: path.chat_session_id,
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

export function sessionRoutes({ sessions, messages, show, wakeMover }: SessionRoutesDeps): Route[] {
  return [
    route(
      {
        ...CHAT,
        id: 'chat.list-sessions',
        method: 'GET',
        path: COLLECTION,
        summary: 'List chat sessions, newest first',
        description: "Those of the key's owner; for administrators those of the workspace.",
        parameters: InWorkspace,
        query: SessionQuery,
        responses: pageAnswer('A page of sessions.', ChatSessionPage, SESSION_EXAMPLE),
      },
      async ({ path, query, principal }) => {
        const page = toPageRequest(query, isId);
        const channel = query.channel || undefined;
        const of = { workspaceId: path.workspace_id, reach: principal, channel };
        return toPage(await sessions.list(of, page), page.limit, renderSession);
      },
    ),
    route(
      {
        ...CHAT,
        id: 'chat.rename-session',
        events: ['chat.rename'],
        method: 'PATCH',
        path: ITEM,
        summary: 'Give a chat session a title',
        parameters: SessionPath,
        body: TitlePatch,
        bodyExample: { title: SESSION_EXAMPLE.title },
        responses: { 200: { description: 'The session.', schema: ChatSession, example: SESSION_EXAMPLE } },
        refusals: [404],
      },
      async ({ path, body, principal }) => {
        const change = { title: body.title, subject: principal.email };
        const renamed = await sessions.rename(toReference({ path, principal }), change);
        if (renamed === undefined) throw sessionNotFound();
        wakeMover();
        return renderSession(renamed);
      },
    ),
    route(
      {
        ...CHAT,
        id: 'chat.delete-session',
        events: ['chat.delete'],
        method: 'DELETE',
        path: ITEM,
        summary: 'Delete a chat session with its messages',
        description: 'The same five keys make a new session.',
        parameters: SessionPath,
        responses: { 204: { description: 'Deleted; no content.' } },
        refusals: [404],
      },
      async ({ path, principal }) => {
        if (!(await sessions.delete(toReference({ path, principal }), principal.email)))
          throw sessionNotFound();
        wakeMover();
      },
    ),
    route(
      {
        ...CHAT,
        id: 'chat.list-messages',
        method: 'GET',
        path: `${ITEM}/messages`,
        summary: 'The messages of a chat session in order of arrival',
        description:
          'All branches: `parent_message_id` says what each follows. Answers that are being made are not there yet.',
        parameters: SessionPath,
        query: PageQuery,
        responses: pageAnswer('A page of messages.', ChatMessagePage, MESSAGE_EXAMPLE),
        refusals: [404],
      },
      async ({ path, query, principal }) => {
        const { limit, after } = toPageRequest(query, isId);
        const reference = toReference({ path, principal });
        const { rows, more } = await messages.list(reference, { limit, afterId: Number(after?.id ?? 0) });
        const last = rows.at(-1);
        if (last === undefined && !(await sessions.exists(reference))) throw sessionNotFound();
        const items = (await show(principal, rows)).map(renderMessage);
        return { items, next_cursor: more && last !== undefined ? renderCursor(last) : null };
      },
    ),
    route(
      {
        ...CHAT,
        id: 'chat.add-agent-message',
        events: ['messages.agent.new'],
        method: 'POST',
        path: `${ITEM}/agent-messages`,
        summary: 'A person of the company answers',
        parameters: SessionPath,
        body: AgentMessageCreate,
        bodyExample: { message: PERSON_MESSAGE_EXAMPLE.message, agent_id: PERSON_MESSAGE_EXAMPLE.agent_id },
        responses: {
          201: { description: 'The message.', schema: ChatMessage, example: PERSON_MESSAGE_EXAMPLE },
        },
        refusals: [404],
      },
      async ({ path, body, principal }) => {
        assertMessageSize(body.message);
        const words = { message: body.message, agentId: body.agent_id, subject: principal.email };
        const added = await messages.addOfPerson(toReference({ path, principal }), words);
        if (added === undefined) throw sessionNotFound();
        wakeMover();
        return renderMessage(added);
      },
    ),
  ];
}
