// A question as it was taken.

import type { Turn } from '../../src/chat/turn.ts';

export const TURN: Turn = {
  workspaceId: 'acme',
  sessionId: 1,
  channelSessionId: 's',
  personaId: 0,
  agiId: 'x',
  agentId: null,
  parentId: null,
  userMessageId: 1,
  answerId: 2,
  channelMessageId: null,
  channelAnswerId: null,
  message: 'question',
  caller: { email: '', readsAs: null },
  place: 2,
  attempt: 1,
};
