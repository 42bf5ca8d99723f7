import { Type } from '@sinclair/typebox';
import type { Principal } from '../../core/principal.ts';
import { noContent, type Route, reply, route } from '../../http/operation.ts';
import { PageQuery, toPageRequest } from '../../http/paging.ts';
import { withErrors } from '../../http/schemas.ts';
import { toReach } from '../caller.ts';
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
        responses: withErrors(
          {
            200: {
              description: 'A page of sessions.',
              schema: ChatSessionPage,
              example: { items: [SESSION_EXAMPLE], next_cursor: null },
            },
          },
          [401, 403, 422, 503],
        ),
      },
      async ({ path, query, principal }) => {
        const of = { workspaceId: path.workspace_id, reach: toReach(principal) };
        return reply(200, await sessions.list(of, toPageRequest(query, isId)));
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
        query: Type.Object({}),
        body: TitlePatch,
        bodyExample: { title: SESSION_EXAMPLE.title },
        responses: withErrors(
          { 200: { description: 'The session.', schema: ChatSession, example: SESSION_EXAMPLE } },
          [401, 403, 404, 413, 415, 422, 503],
        ),
      },
      async ({ path, body, principal }) =>
        reply(
          200,
          await sessions.rename(toReference({ path, principal }), {
            title: body.title,
            subject: principal.email,
          }),
        ),
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
        query: Type.Object({}),
        responses: withErrors({ 204: { description: 'Deleted; no content.' } }, [401, 403, 404, 422, 503]),
      },
      async ({ path, principal }) => {
        await sessions.delete(toReference({ path, principal }), { subject: principal.email });
        return noContent();
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
        responses: withErrors(
          {
            200: {
              description: 'A page of messages.',
              schema: ChatMessagePage,
              example: { items: [MESSAGE_EXAMPLE], next_cursor: null },
            },
          },
          [401, 403, 404, 422, 503],
        ),
      },
      async ({ path, query, principal }) =>
        reply(
          200,
          await messages.list(principal, toReference({ path, principal }), toPageRequest(query, isId)),
        ),
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
        query: Type.Object({}),
        body: AgentMessageCreate,
        bodyExample: { message: PERSON_MESSAGE_EXAMPLE.message, agent_id: PERSON_MESSAGE_EXAMPLE.agent_id },
        responses: withErrors(
          { 201: { description: 'The message.', schema: ChatMessage, example: PERSON_MESSAGE_EXAMPLE } },
          [401, 403, 404, 413, 415, 422, 503],
        ),
      },
      async ({ path, body, principal }) => {
        const words = { message: body.message, agentId: body.agent_id, subject: principal.email };
        return reply(201, await messages.addOfPerson(toReference({ path, principal }), words));
      },
    ),
  ];
}
