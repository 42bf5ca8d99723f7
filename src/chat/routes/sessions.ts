import type { Principal } from '../../core/principal.ts';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { MESSAGE_EXAMPLE, PERSON_MESSAGE_EXAMPLE, SESSION_EXAMPLE } from '../examples.ts';
import type { createMessages } from '../operations/messages.ts';
import type { createSessions } from '../operations/sessions.ts';
import {
  AgentMessageCreate,
  ChatMessage,
  ChatMessagePage,
  ChatSession,
  ChatSessionPage,
  InWorkspace,
  SessionPath,
  TitlePatch,
} from '../schema.ts';
import { toReach } from '../turn.ts';
import { CHAT } from './answers.ts';

export type SessionRoutesDeps = {
  sessions: ReturnType<typeof createSessions>;
  messages: ReturnType<typeof createMessages>;
};

const COLLECTION = '/api/v1/chat/sessions/{workspace_id}';
const ITEM = `${COLLECTION}/{chat_session_id}`;

/** Whether a text is an id of ours. */
const isId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text));

type SessionInput = { path: { workspace_id: string; chat_session_id: number }; principal: Principal };

const toReference = ({ path, principal }: SessionInput) => ({
  workspaceId: path.workspace_id,
  sessionId: path.chat_session_id,
  reach: toReach(principal),
});

export function sessionRoutes({ sessions, messages }: SessionRoutesDeps): Route[] {
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
        query: PageQuery,
        responses: pageAnswer('A page of sessions.', ChatSessionPage, SESSION_EXAMPLE),
      },
      async ({ path, query, principal }) => {
        const of = { workspaceId: path.workspace_id, reach: toReach(principal) };
        return sessions.list(of, toPageRequest(query, isId));
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
      ({ path, body, principal }) =>
        sessions.rename(toReference({ path, principal }), {
          title: body.title,
          subject: principal.email,
        }),
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
      ({ path, principal }) =>
        sessions.delete(toReference({ path, principal }), { subject: principal.email }),
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
      ({ path, query, principal }) =>
        messages.list(principal, toReference({ path, principal }), toPageRequest(query, isId)),
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
        const words = { message: body.message, agentId: body.agent_id, subject: principal.email };
        return messages.addOfPerson(toReference({ path, principal }), words);
      },
    ),
  ];
}
