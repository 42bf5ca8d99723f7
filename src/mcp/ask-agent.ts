import { type Static, Type } from '@sinclair/typebox';
import { newRandomId } from '../core/ids.ts';
import { nullable, text } from '../http/schemas.ts';
import { ID_LENGTH_MAX, QUESTION_LENGTH_MAX } from './limits.ts';
import { quoted, tool } from './tool.ts';

/** The keys of the chat sessions of this tool, beside the session's own. */
const CHANNEL = { channel: 'mcp', channel_plugin: 'mcp', channel_id: 'ask_agent' };

/** An agent that no workspace has: the workspace's default answers. */
const ANY_AGENT = 'default';

const Citation = Type.Object({
  number: nullable(Type.Integer(), 'By which the answer names it, as [1].'),
  document_id: text('For read_document and document_link.'),
  name: text('Its name.'),
  page: nullable(Type.Integer(), 'The page, slide or sheet.'),
  heading: nullable(Type.String(), 'The headings above it.'),
  quote: nullable(Type.String(), 'The words of the document that support the answer.'),
  score: Type.Number({ description: 'How well the passage fits the question, from 0 to 1.' }),
});
type Answer = { answer: string; citations: Static<typeof Citation>[] };

const id = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX, description }));

export const askAgent = tool(
  {
    name: 'ask_agent',
    title: 'Ask an agent',
    description:
      'Asks an agent of the organisation a question, and returns its answer with the documents that it cites. The agent remembers what was ' +
      'said before in the same session: pass session_id of the answer before to go on. It may take a minute.',
    scope: 'chat',
    isLong: true,
    readOnly: false,
    input: Type.Object({
      question: Type.String({
        minLength: 1,
        maxLength: QUESTION_LENGTH_MAX,
        description: 'The question or message.',
      }),
      agent: id("The id of the agent to ask; without it the workspace's default agent answers."),
      session_id: id('The session to go on with, as an answer returned it; without it a new one begins.'),
    }),
    output: Type.Object({
      answer: text('The answer.'),
      session_id: text('To go on with.'),
      citations: Type.Array(Citation, { description: 'What the answer rests on.' }),
    }),
  },
  async (call, caller, { question, agent, session_id }) => {
    const session = session_id ?? newRandomId();
    if (session_id === undefined || agent !== undefined)
      await call('chat.create-session', caller, {
        path: CHANNEL,
        body: { agi_id: agent ?? ANY_AGENT, channel_session_id: session },
      });
    const { answer, citations } = (await call('chat.send-message', caller, {
      path: { ...CHANNEL, channel_session_id: session },
      body: {
        message: question,
        channel_user_message_id: newRandomId(),
        channel_assistant_message_id: newRandomId(),
      },
    })) as Answer;
    const structured = { answer, session_id: session, citations };
    return { structured, text: renderAnswer(structured) };
  },
);

function renderAnswer({ answer, session_id, citations }: Answer & { session_id: string }): string {
  const sources = citations.map(({ number, document_id, name, page, quote }) => {
    const place = `${number === null ? '-' : `[${number}]`} ${quoted(name)}${page === null ? '' : `, page ${page}`}`;
    return `${place} (document_id ${document_id})${quote === null ? '' : `: ${quoted(quote)}`}`;
  });
  const listed = sources.length > 0 ? [`Sources:\n${sources.join('\n')}`] : [];
  return [answer, ...listed, `session_id: ${session_id}`].join('\n\n');
}
