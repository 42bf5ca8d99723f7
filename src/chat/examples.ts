// Examples of the documentation.

export const SESSION_CREATE_EXAMPLE = {
  persona_id: 0,
  agi_id: '3b0c1f5e-6c1d-4a5e-9c58-0f3f5a1f6f0d',
  channel_session_id: 'widget-4711',
};

export const SESSION_KEYS_EXAMPLE = {
  chat_session_id: 17,
  channel_session_id: SESSION_CREATE_EXAMPLE.channel_session_id,
  persona_id: SESSION_CREATE_EXAMPLE.persona_id,
  agi_id: SESSION_CREATE_EXAMPLE.agi_id,
  channel: 'web',
  channel_plugin: 'widget',
  channel_id: 'shop',
};

export const SESSION_CREATED_EXAMPLE = {
  ...SESSION_KEYS_EXAMPLE,
  workspace_id: 'acme',
  created: true,
  created_at: '2026-11-20T23:38:56.123Z',
};

export const SESSION_EXAMPLE = {
  ...SESSION_KEYS_EXAMPLE,
  title: 'Opening hours',
  user: 'widget@example.com',
  message_count: 2,
  created_at: '2026-11-20T23:38:56.123Z',
  updated_at: '2026-11-20T23:39:01.456Z',
};

export const SEND_EXAMPLE = {
  message: 'When are you open?',
  channel_user_message_id: 'u-1',
  channel_assistant_message_id: 'a-1',
};

const CITATION = {
  number: 1,
  document_id: '019a9f3e-7c1b-7d52-9a44-2f60c1d3b7aa',
  name: 'visitors.pdf',
  page: 3,
  heading: 'Opening hours',
  quote: 'In summer the shop is open from nine to five.',
  score: 0.84,
};

export const ANSWER_EXAMPLE = {
  chat_session_id: 17,
  channel_session_id: SESSION_CREATE_EXAMPLE.channel_session_id,
  message_id: 42,
  user_message_id: 41,
  channel_user_message_id: SEND_EXAMPLE.channel_user_message_id,
  channel_assistant_message_id: SEND_EXAMPLE.channel_assistant_message_id,
  answer: 'From nine to five [1].',
  citations: [CITATION],
  model: 'gpt-4o-mini',
  finish_reason: 'stop',
  usage: { prompt_tokens: 120, completion_tokens: 6, total_tokens: 126 },
  error_msg: null,
  created_at: '2026-11-20T23:39:01.456Z',
};

export const ANSWER_STREAM_EXAMPLE = [
  { type: 'start', message_id: ANSWER_EXAMPLE.message_id, user_message_id: ANSWER_EXAMPLE.user_message_id },
  { type: 'delta', text: 'From nine ' },
  { type: 'delta', text: 'to five [1].' },
  { type: 'citations', citations: ANSWER_EXAMPLE.citations },
  { type: 'end', ...ANSWER_EXAMPLE },
]
  .map((event) => `data: ${JSON.stringify(event)}\n\n`)
  .join('');

export const MESSAGE_EXAMPLE = {
  message_id: 42,
  parent_message_id: 41,
  role: 'assistant',
  message: ANSWER_EXAMPLE.answer,
  channel_message_id: SEND_EXAMPLE.channel_assistant_message_id,
  agent_id: 'helper',
  citations: [CITATION],
  feedback: { is_positive: true, feedback_text: '' },
  error_msg: null,
  created_at: ANSWER_EXAMPLE.created_at,
};

export const PERSON_MESSAGE_EXAMPLE = {
  ...MESSAGE_EXAMPLE,
  message_id: 43,
  parent_message_id: 42,
  role: 'agent',
  message: 'On Saturdays, too.',
  channel_message_id: null,
  agent_id: 'grace@example.com',
  citations: [],
  feedback: null,
  created_at: '2026-11-20T23:40:12.789Z',
};

export const FEEDBACK_EXAMPLE = { is_positive: false, feedback_text: 'It is ten to six.' };

export const AGENT_WRITE_EXAMPLE = {
  name: 'Helper',
  kind: 'persona',
  model: 'gpt-4o-mini',
  instructions: 'You answer the questions of our customers.',
  temperature: 0.2,
  knowledge: 'documents',
  knowledge_only: true,
  not_found_text: 'Our documents do not answer this. Please call us.',
  default: true,
};

export const AGENT_EXAMPLE = {
  id: 'helper',
  ...AGENT_WRITE_EXAMPLE,
  history_messages: 20,
  history_tokens: 8000,
  replies: [],
  created_at: '2026-11-20T23:30:00.000Z',
  updated_at: '2026-11-20T23:30:00.000Z',
};
