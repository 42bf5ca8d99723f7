// A question and its answer, from its acceptance until both are stored: plain data that the files of the turn hand on.

import type { Payer } from '../core/embed-texts.ts';
import type { ErrorKind } from '../core/errors.ts';
import type { KeyLimits, Principal } from '../core/principal.ts';

/** The person for whom an answer is made: stored with the question, so that any process can make it. */
export type TurnCaller = {
  email: string;
  keyId?: string;
  limits?: KeyLimits;
  /** Whose documents may be cited, by e-mail; null: none, because the key lacks the scope. */
  readsAs: string | null;
};

/** Which conversations a caller can access: those of their own keys; administrators every one of the workspace. */
export type Reach = Pick<Principal, 'userId' | 'scopes'>;

/** A message of the conversation before a question. */
export type Said = { role: 'user' | 'assistant' | 'agent'; message: string };

export type SessionKeys = {
  workspaceId: string;
  channel: string;
  channelPlugin: string;
  channelId: string;
  channelSessionId: string;
};

/** A message of a channel, or one that replaces another message and takes its ids. */
export type Question = {
  workspaceId: string;
  /** The idempotency key of a message is `requestKey`, else the channel's identifier. */
  place: { session: SessionKeys; channelMessageId: string; requestKey?: string } | { replaces: number };
  reach: Reach;
  message: string;
  channelAnswerId: string | null;
  /** The agent that this question alone asks for, before the session's. */
  agentId: string | null;
  caller: TurnCaller;
};

/** An accepted question that has no answer yet. */
export type Turn = {
  workspaceId: string;
  sessionId: number;
  channelSessionId: string;
  personaId: number;
  agiId: string;
  agentId: string | null;
  /** The end of the branch that the question continues. */
  parentId: number | null;
  userMessageId: number;
  answerId: number;
  channelMessageId: string | null;
  channelAnswerId: string | null;
  /** `''`: the question was deleted. */
  message: string;
  caller: TurnCaller;
  /** With `attempt` it identifies the attempt that may store the answer; asking again gives another place. */
  place: number;
  /** How many processes began the answer since the question was last asked. */
  attempt: number;
};

/** A part of a document that an answer rests on. */
export type Citation = {
  /** The number in the text of the answer, as `[1]`; null where the answer has no numbers. */
  number: number | null;
  document_id: string;
  name: string;
  /** Null where the text has no pages. */
  page: number | null;
  heading: string | null;
  /** The part of the text that the answer leans on; null where only the record's name was found. */
  quote: string | null;
  score: number;
};

export type Answer = {
  message: string;
  citations: Citation[];
  /** Undefined: no agent is configured. */
  agentId: string | undefined;
  kind: 'persona' | 'agent' | 'bot';
  /** Null where no model was asked. */
  model: string | null;
  finishReason: string;
  promptTokens: number;
  completionTokens: number;
};

/** Why there is no answer, in words for its callers. */
export type Failure = {
  sentence: string;
  kind: ErrorKind | 'internal';
  retryAfterSeconds: number | undefined;
};

export type AnsweredTurn = Pick<
  Turn,
  'sessionId' | 'channelSessionId' | 'userMessageId' | 'answerId' | 'channelMessageId' | 'channelAnswerId'
> &
  Pick<Answer, 'message' | 'citations' | 'model' | 'finishReason' | 'promptTokens' | 'completionTokens'> & {
    createdAt: Date;
  };

/** A passage of a document's text, or the document's record: what a model is shown, and what its citation says. */
export type Passage = {
  document_id: string;
  name: string;
  /** Null where the text has no pages, and for a record. */
  page: number | null;
  heading: string | null;
  /** How well it fits the question, 0 to 1. */
  score: number;
  text: string;
};

/** A question, with the earlier questions of the same person in the conversation, the latest last. */
export type Inquiry = {
  workspaceId: string;
  email: string;
  question: string;
  earlier: readonly string[];
  /** Whose limits count for the search. */
  payer?: Payer | undefined;
};
