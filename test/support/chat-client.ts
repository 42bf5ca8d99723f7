// Area C as a channel uses it: every operation by a name, answers untouched.

import { type Answer, bodyOf, type Caller } from '../acceptance/support/caller.ts';

export type AnswerBody = {
  chat_session_id: number;
  channel_session_id: string;
  message_id: number;
  user_message_id: number;
  channel_user_message_id: string | null;
  channel_assistant_message_id: string | null;
  answer: string;
  citations: {
    number: number | null;
    document_id: string;
    name: string;
    page: number | null;
    heading: string | null;
    quote: string | null;
    score: number;
  }[];
  model: string | null;
  finish_reason: string;
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  error_msg: string | null;
  created_at: string;
};

export type SessionCreated = {
  chat_session_id: number;
  channel_session_id: string;
  persona_id: number;
  agi_id: string;
  workspace_id: string;
  channel: string;
  channel_plugin: string;
  channel_id: string;
  created: boolean;
  created_at: string;
};

export type SessionRow = Omit<SessionCreated, 'created' | 'workspace_id'> & {
  title: string | null;
  user: string;
  message_count: number;
  updated_at: string;
};

export type MessageRow = {
  message_id: number;
  parent_message_id: number | null;
  role: 'user' | 'assistant' | 'agent';
  message: string;
  channel_message_id: string | null;
  agent_id: string | null;
  citations: AnswerBody['citations'];
  feedback: { is_positive: boolean; feedback_text: string } | null;
  error_msg: string | null;
  created_at: string;
};

export type StreamEvent = { type: string; [field: string]: unknown };
type Page<Row> = { items: Row[]; next_cursor: string | null };
type Query = Record<string, string | number>;
type SendOptions = { id?: string; answerId?: string; stream?: boolean };

export type ChatClient = ReturnType<typeof createChatClient>;

/** A name that no other test uses. */
export const freshId = (): string => crypto.randomUUID();

/** The events of a stream; comments are left out. */
export const eventsOf = (text: string): StreamEvent[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => JSON.parse(block.slice('data: '.length)) as StreamEvent);

/** The conversations of one channel configuration, `web/widget/shop` unless another is given. */
export function createChatClient(
  call: Caller,
  { workspace, key, channel = 'web/widget/shop' }: { workspace: string; key: string; channel?: string },
) {
  const headers = { 'svc-key': key };
  const root = '/api/v1/chat';
  const sendPath = (session: string): string =>
    `${root}/messages/send-message/${workspace}/${channel}/bychannelsession/${encodeURIComponent(session)}`;
  const withQuery = (query: Query): string =>
    Object.keys(query).length === 0
      ? ''
      : `?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]))}`;

  const createSession = (json: unknown): Promise<Answer> =>
    call('POST', `${root}/messages/create-chat-session/${workspace}/${channel}`, { headers, json });
  const post = (session: string, json: unknown, { stream = false } = {}): Promise<Answer> =>
    call('POST', sendPath(session), {
      headers: { ...headers, ...(stream ? { accept: 'text/event-stream' } : {}) },
      json,
    });
  const send = (session: string, message: string, options: SendOptions = {}): Promise<Answer> => {
    const { id = freshId(), answerId = `a-${id}`, stream = false } = options;
    const json = { message, channel_user_message_id: id, channel_assistant_message_id: answerId };
    return post(session, json, { stream });
  };
  const messages = (id: number, query: Query = {}): Promise<Answer> =>
    call('GET', `${root}/sessions/${workspace}/${id}/messages${withQuery(query)}`, { headers });

  return {
    sendPath,
    createSession,
    post,
    send,
    messages,
    edit: (id: number, json: unknown): Promise<Answer> =>
      call('PUT', `${root}/messages/${workspace}/${id}`, { headers, json }),
    remove: (id: number): Promise<Answer> =>
      call('DELETE', `${root}/messages/${workspace}/${id}`, { headers }),
    stopAnswer: (id: number): Promise<Answer> =>
      call('DELETE', `${root}/messages/${workspace}/${id}/answer`, { headers }),
    feedback: (id: number, json: unknown): Promise<Answer> =>
      call('POST', `${root}/messages/${workspace}/${id}/feedback`, { headers, json }),
    sessions: (query: Query = {}): Promise<Answer> =>
      call('GET', `${root}/sessions/${workspace}${withQuery(query)}`, { headers }),
    rename: (id: number, json: unknown): Promise<Answer> =>
      call('PATCH', `${root}/sessions/${workspace}/${id}`, { headers, json }),
    removeSession: (id: number): Promise<Answer> =>
      call('DELETE', `${root}/sessions/${workspace}/${id}`, { headers }),
    addAgentMessage: (id: number, json: unknown): Promise<Answer> =>
      call('POST', `${root}/sessions/${workspace}/${id}/agent-messages`, { headers, json }),
    putAgent: (id: string, json: unknown): Promise<Answer> =>
      call('PUT', `/admin/api/workspaces/${workspace}/agents/${encodeURIComponent(id)}`, { key, json }),
    agent: (method: 'GET' | 'DELETE', id: string): Promise<Answer> =>
      call(method, `/admin/api/workspaces/${workspace}/agents/${encodeURIComponent(id)}`, { key }),

    /** A new session, by the channel's name for it. */
    async newSession(fields: Record<string, unknown> = {}): Promise<SessionCreated & { name: string }> {
      const json = { agi_id: 'nobody', channel_session_id: freshId(), ...fields };
      const session = bodyOf<SessionCreated>(await createSession(json), 200);
      return { ...session, name: session.channel_session_id };
    },
    /** The answer, which has to be given. */
    ask: async (session: string, message: string, options: SendOptions = {}): Promise<AnswerBody> =>
      bodyOf<AnswerBody>(await send(session, message, options), 200),
    /** All of its messages, page by page. */
    async transcript(id: number): Promise<MessageRow[]> {
      const rows: MessageRow[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: Page<MessageRow> = bodyOf(await messages(id, { limit: 100, cursor }), 200);
        rows.push(...page.items);
        cursor = page.next_cursor;
      }
      return rows;
    },
  };
}
