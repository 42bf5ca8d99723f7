import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { isUuid } from '../../core/ids.ts';
import type { Http } from '../../http/http.ts';
import { parameters } from '../../http/input.ts';
import { PageQuery, pageAnswer, pageOf, renderCursor, toPageRequest } from '../../http/paging.ts';
import { METRIC_EXAMPLE } from '../examples.ts';
import { jsonText, renderEvents } from '../render.ts';
import { InWorkspace, MetricEvent } from '../schema.ts';
import type { ConversationEventReader } from '../store/conversation-events.ts';

const ConversationEventPage = pageOf(MetricEvent, 'ConversationEventPage');

export const conversationEventRoutes = ({ plugin }: Http, reader: ConversationEventReader) =>
  new Elysia({ name: 'usage.conversation-events', tags: ['metrics'] }).use(plugin).get(
    '/admin/api/workspaces/:workspace_id/chat-sessions/:chat_session_id/events',
    async ({ params: { workspace_id: workspaceId, chat_session_id: sessionId }, query }) => {
      const { events, next } = await reader.page({ workspaceId, sessionId }, toPageRequest(query, isUuid));
      const cursor = next === undefined ? null : renderCursor(next);
      return jsonText(
        `{"items":${renderEvents(workspaceId, events)},"next_cursor":${JSON.stringify(cursor)}}`,
      );
    },
    {
      key: { in: 'administration', scope: 'admin' },
      params: parameters(
        Type.Object({
          ...InWorkspace.properties,
          chat_session_id: Type.Integer({
            minimum: 1,
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'The identifier of the session.',
          }),
        }),
      ),
      query: parameters(PageQuery),
      response: { ...pageAnswer('A page of events.', ConversationEventPage, METRIC_EXAMPLE) },
      detail: {
        operationId: 'metrics.list-conversation-events',
        summary: 'The events of a chat session, in order of storage',
        description:
          'Those that name the session; behind them those that name only a message of this page: feedback, deletions and ' +
          'changes. Also of a session that was deleted.',
      },
    },
  );
