// The interface of the chat area for bots: turns of a conversation, stored and counted like those of any channel.

import type { Principal } from '../core/principal.ts';

export type Turn = {
  workspaceId: string;
  /** The five keys of its session but the workspace; the session is made when it is absent. */
  channel: string;
  channelPlugin: string;
  channelId: string;
  channelSessionId: string;
  /** The person's e-mail, lower-cased; `''` where it is unknown. */
  user: string;
  /** The key of the request, if there is one: its limits count, and documents of its owner can be cited. */
  key?: Pick<Principal, 'keyId' | 'email' | 'limits' | 'scopes'>;
  /** Of the person's message, unique within the session: the same again gives the stored answer. */
  channelMessageId: string;
};

export type Converse = {
  /**
   * The agent's answer to a message. Aborting the wait (`signal`) does not abort the answer: it is stored, and a
   * repeated request of the same turn returns it. Throws the errors of `StreamChat`; then a repeated request makes a new attempt.
   */
  ask(turn: Turn & { message: string; agentId?: string; signal: AbortSignal }): Promise<{ answer: string }>;
  /**
   * A turn whose answer stands before: a slash command's reply, a welcome (then there is no message). Stored with the
   * event `messages.rag.bot.new`, and, where there is a message, `messages.user.new`.
   */
  reply(turn: Turn & { message: string | null; reply: string }): Promise<{ answer: string }>;
};
