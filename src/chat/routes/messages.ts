import { Elysia, status } from 'elysia';
import { conflict, notFound } from '../../core/errors.ts';
import type { WakeEventMover } from '../../core/event.ts';
import type { Principal } from '../../core/principal.ts';
import { within } from '../../core/wait.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import type { Answers } from '../answers.ts';
import { FEEDBACK_EXAMPLE, MESSAGE_EXAMPLE } from '../examples.ts';
import { STOP_WAIT_MS } from '../limits.ts';
import type { MessageStore } from '../messages.ts';
import { FeedbackCreate, FeedbackRead, MessagePath } from '../schema.ts';
import { CHAT } from './answers.ts';

/** The finish reason of an answer that was stopped. */
const STOPPED = 'stopped';

const endedRefusal = () => conflict('The answer is not being made any more');

type MessageInput = { params: { workspace_id: string; message_id: number }; principal: Principal };

const toReference = ({ params, principal }: MessageInput) => ({
  workspaceId: params.workspace_id,
  messageId: params.message_id,
  reach: principal,
});

export const messageRoutes = (
  { plugin }: Http,
  { messages, answers }: { messages: MessageStore; answers: Answers },
  wakeMover: WakeEventMover,
) =>
  new Elysia({
    name: 'chat.messages',
    prefix: '/api/v1/chat/messages/:workspace_id/:message_id',
    tags: ['chat'],
  })
    .use(plugin)
    .post(
      '/feedback',
      async ({ params, body, principal }) => {
        const feedback = { is_positive: body.is_positive, feedback_text: body.feedback_text ?? '' };
        const given = { feedback, subject: principal.email };
        if (!(await messages.giveFeedback(toReference({ params, principal }), given)))
          throw notFound('There is no answer of this id');
        wakeMover();
        return status(201, { message_id: params.message_id, ...feedback });
      },
      {
        ...CHAT,
        events: ['messages.user.feedback'],
        params: parameters(MessagePath),
        body: json(FeedbackCreate, { example: FEEDBACK_EXAMPLE }),
        response: {
          201: answer({
            description: 'What was stored.',
            schema: FeedbackRead,
            example: { message_id: MESSAGE_EXAMPLE.message_id, ...FEEDBACK_EXAMPLE },
          }),
          ...refusals(404),
        },
        detail: {
          operationId: 'chat.give-feedback',
          summary: 'Say whether an answer was good',
          description: 'Replaces what was said of the answer before.',
        },
      },
    )
    .delete(
      '/answer',
      async ({ params, principal }) => {
        const answer = await messages.stopAnswer(toReference({ params, principal }));
        if (answer === undefined) throw notFound('There is no answer of this id');
        if (!answer.isStopped) throw endedRefusal();
        const reason = answers.follow(answer).outcome.then(
          ({ finishReason }) => finishReason,
          () => STOPPED,
        );
        // It is stopped also if its process does not store it in time.
        if ((await within(reason, STOP_WAIT_MS, () => STOPPED)) !== STOPPED) throw endedRefusal();
      },
      {
        ...CHAT,
        params: parameters(MessagePath),
        response: { 204: answer({ description: 'Stopped; no content.' }), ...refusals(404, 409) },
        detail: {
          operationId: 'chat.stop-answer',
          summary: 'Stop an answer that is being made',
          description:
            'By the id of the question, or of its answer, which the stream names in its first event. The model is cancelled. The ' +
            'text so far is the answer, with the `finish_reason` `stopped`: whoever waits for it gets it, a stream ends with it, ' +
            'and the same message again gives it. An answer without a word yet, also in the queue, has failed (409 for who waits), ' +
            'and the same message again is answered anew. An answer that was stopped before is 204 again; one that has ended by ' +
            'itself is 409.',
        },
      },
    )
    .delete(
      '',
      async ({ params, principal }) => {
        if (!(await messages.delete(toReference({ params, principal }), principal.email)))
          throw notFound('There is no user message of this id');
        wakeMover();
      },
      {
        ...CHAT,
        events: ['messages.user.delete'],
        params: parameters(MessagePath),
        response: { 204: answer({ description: 'Deleted; no content.' }), ...refusals(404) },
        detail: {
          operationId: 'chat.delete-message',
          summary: 'Delete a user message with its answer',
          description: 'What follows them stays. The same message of the channel again is 404.',
        },
      },
    );
