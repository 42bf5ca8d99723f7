import { Type } from '@sinclair/typebox';
import { isUuid } from '../../core/ids.ts';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, pageOf, renderCursor, toPageRequest } from '../../http/paging.ts';
import { jsonText } from '../answers.ts';
import { METRIC_EXAMPLE } from '../examples.ts';
import { renderEvents } from '../render.ts';
import { InWorkspace, MetricEvent } from '../schema.ts';
import type { ConversationEventReader } from '../store/conversation-events.ts';

const ConversationEventPage = pageOf(MetricEvent, 'ConversationEventPage');

export const conversationEventRoutes = (reader: ConversationEventReader): Route[] => [
  route(
    {
      area: 'metrics',
      credential: 'administration',
      scope: 'admin',
      id: 'metrics.list-conversation-events',
      method: 'GET',
      path: '/admin/api/workspaces/{workspace_id}/chat-sessions/{chat_session_id}/events',
      summary: 'The events of a chat session, in order of storage',
      description:
        'Those that name the session; behind them those that name only a message of this page: feedback, deletions and ' +
        'changes. Also of a session that was deleted.',
      parameters: Type.Object({
        ...InWorkspace.properties,
        chat_session_id: Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'The identifier of the session.',
        }),
      }),
      query: PageQuery,
      responses: pageAnswer('A page of events.', ConversationEventPage, METRIC_EXAMPLE),
    },
    async ({ path: { workspace_id: workspaceId, chat_session_id: sessionId }, query }) => {
      const { events, next } = await reader.page({ workspaceId, sessionId }, toPageRequest(query, isUuid));
      const cursor = next === undefined ? null : renderCursor(next);
      return jsonText(
        `{"items":${renderEvents(workspaceId, events)},"next_cursor":${JSON.stringify(cursor)}}`,
      );
    },
  ),
];
