// Examples of the documentation.

import type { Static } from '@sinclair/typebox';
import type { ChatappMessageRequest } from './event-schema.ts';
import type { BotRead } from './schema.ts';

const USER = {
  name: 'users/1234567890',
  displayName: 'Ada Lovelace',
  avatarUrl: 'https://chat.example/ada.png',
  email: 'ada@example.com',
  type: 'HUMAN',
  domainId: 'example',
};

const SPACE = {
  name: 'spaces/AAAAMpdlehY',
  type: 'DM',
  singleUserBotDm: true,
  spaceThreadingState: 'UNTHREADED_MESSAGES',
  spaceType: 'DIRECT_MESSAGE',
  spaceHistoryState: 'HISTORY_ON',
  spaceUri: 'https://chat.example/dm/AAAAMpdlehY',
};

export const EVENT_EXAMPLE: Static<typeof ChatappMessageRequest> = {
  type: 'MESSAGE',
  eventTime: '2026-01-31T10:00:00.123456Z',
  message: {
    name: 'spaces/AAAAMpdlehY/messages/UMxbHmzDlr4.UMxbHmzDlr4',
    sender: USER,
    createTime: '2026-01-31T10:00:00.123456Z',
    text: 'Where is the annual report?',
    argumentText: 'Where is the annual report?',
    thread: { name: 'spaces/AAAAMpdlehY/threads/UMxbHmzDlr4' },
    space: SPACE,
  },
  user: USER,
  space: SPACE,
  configCompleteRedirectUrl: 'https://chat.example/configured',
  common: { userLocale: 'en', hostApp: 'CHAT' },
};

export const ADD_ON_EVENT_EXAMPLE = {
  commonEventObject: { userLocale: 'en', hostApp: 'CHAT', platform: 'WEB' },
  chat: {
    user: USER,
    eventTime: EVENT_EXAMPLE.eventTime,
    messagePayload: { message: EVENT_EXAMPLE.message, space: SPACE },
  },
};

export const BOT_PUT_EXAMPLE = {
  verification: { mode: 'project_number', audience: '123456789012' },
  agent_id: 'support',
  welcome_text: 'Hello. Ask me about our documents.',
  commands: [{ id: 1, name: '/help', reply: 'Ask me anything about our documents.' }],
};

export const BOT_EXAMPLE: BotRead = {
  id: 'support-bot',
  verification: { mode: 'project_number', audience: '123456789012', jwks: null },
  agent_id: 'support',
  welcome_text: BOT_PUT_EXAMPLE.welcome_text,
  commands: [{ id: 1, name: '/help', reply: 'Ask me anything about our documents.', agent_id: null }],
  created_at: '2026-01-31T10:00:00.000Z',
  updated_at: '2026-01-31T10:00:00.000Z',
};
