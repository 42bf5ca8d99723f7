// The types of the interface's table ("Events"). Others are taken as they come.

/** `value` is a number in these, a text in the rest. */
const AUTH_TYPES = [
  'auth.user.login',
  'auth.user.logout',
  'auth.user.create',
  'auth.user.delete',
  'auth.user.update',
] as const;

const CONVERSATION_TYPES = [
  'chat.create',
  'chat.delete',
  'chat.rename',
  'messages.user.new',
  'messages.user.feedback',
  'messages.user.delete',
  'messages.user.update',
  'messages.rag.persona.new',
  'messages.rag.agent.new',
  'messages.rag.bot.new',
  'messages.agent.new',
] as const;

/** Each needs `data.value`. */
export const INTERFACE_TYPES: ReadonlySet<string> = new Set([...AUTH_TYPES, ...CONVERSATION_TYPES]);
