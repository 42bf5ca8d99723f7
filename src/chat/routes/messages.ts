import { notFound } from '../../core/errors.ts';
import type { WakeEventMover } from '../../core/event.ts';
import type { Principal } from '../../core/principal.ts';
import { type Route, route } from '../../http/operation.ts';
import { FEEDBACK_EXAMPLE, MESSAGE_EXAMPLE } from '../examples.ts';
import { FeedbackCreate, FeedbackRead, MessagePath } from '../schema.ts';
import type { MessageStore } from '../store/messages.ts';
import { CHAT } from './answers.ts';

const ITEM = '/api/v1/chat/messages/{workspace_id}/{message_id}';

type MessageInput = { path: { workspace_id: string; message_id: number }; principal: Principal };

const toReference = ({ path, principal }: MessageInput) => ({
  workspaceId: path.workspace_id,
  messageId: path.message_id,
  reach: principal,
});

export function messageRoutes(store: MessageStore, wakeMover: WakeEventMover): Route[] {
  return [
    route(
      {
        ...CHAT,
        id: 'chat.give-feedback',
        events: ['messages.user.feedback'],
        method: 'POST',
        path: `${ITEM}/feedback`,
        summary: 'Say whether an answer was good',
        description: 'Replaces what was said of the answer before.',
        parameters: MessagePath,
        body: FeedbackCreate,
        bodyExample: FEEDBACK_EXAMPLE,
        responses: {
          201: {
            description: 'What was stored.',
            schema: FeedbackRead,
            example: { message_id: MESSAGE_EXAMPLE.message_id, ...FEEDBACK_EXAMPLE },
          },
        },
        refusals: [404],
      },
      async ({ path, body, principal }) => {
        const feedback = { is_positive: body.is_positive, feedback_text: body.feedback_text ?? '' };
        const given = { feedback, subject: principal.email };
        if (!(await store.giveFeedback(toReference({ path, principal }), given)))
          throw notFound('There is no answer of this id');
        wakeMover();
        return { message_id: path.message_id, ...feedback };
      },
    ),
    route(
      {
        ...CHAT,
        id: 'chat.delete-message',
        events: ['messages.user.delete'],
        method: 'DELETE',
        path: ITEM,
        summary: 'Delete a user message with its answer',
        description: 'What follows them stays. The same message of the channel again is 404.',
        parameters: MessagePath,
        responses: { 204: { description: 'Deleted; no content.' } },
        refusals: [404],
      },
      async ({ path, principal }) => {
        if (!(await store.delete(toReference({ path, principal }), principal.email)))
          throw notFound('There is no user message of this id');
        wakeMover();
      },
    ),
  ];
}
