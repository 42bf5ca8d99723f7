// Examples of the documentation.

export const EVENT_EXAMPLE = {
  specversion: '1.0',
  id: '7d0f6e0c-3c56-4c57-9d0c-0d2b1f6f5c11',
  source: 'portal',
  type: 'chat.create',
  subject: 'ada@example.com',
  time: '2026-01-31T10:00:00.123Z',
  data: { value: '1', persona_id: 0, chat_session_id: 17 },
};

export const METRIC_EXAMPLE = {
  specversion: '1.0',
  type: EVENT_EXAMPLE.type,
  event_id: EVENT_EXAMPLE.id,
  time: '2026-01-31T10:00:00.123',
  source: EVENT_EXAMPLE.source,
  subject: EVENT_EXAMPLE.subject,
  data: EVENT_EXAMPLE.data,
  id: '019c13a5-6d2b-7c4e-8f1a-2b3c4d5e6f70',
  workspace_id: 'acme',
  created_at: '2026-01-31T10:00:00.371',
  updated_at: '2026-01-31T10:00:00.371',
};

export const DEAD_LETTER_EXAMPLE = {
  id: '019c13a5-7e3c-7d5f-9a2b-3c4d5e6f7081',
  created_at: '2026-01-31T10:00:01.000Z',
  reason: 'invalid input syntax for type json',
  event: {
    event_id: EVENT_EXAMPLE.id,
    source: EVENT_EXAMPLE.source,
    type: EVENT_EXAMPLE.type,
    subject: EVENT_EXAMPLE.subject,
    time: EVENT_EXAMPLE.time,
    data: JSON.stringify(EVENT_EXAMPLE.data),
  },
};
