// A question and its answer, from its acceptance until both are stored: their place, their caller and the outcome.

import type { ErrorKind } from '../core/errors.ts';
import type { KeyLimits, Principal } from '../core/principal.ts';

/** The person for whom an answer is made: stored with the question, so that any process can make it. */
export type TurnCaller = {
  email: string;
  keyId?: string;
  limits?: KeyLimits;
  /** Whose documents may be cited, by e-mail; null: none, for the key lacks the scope. */
  readsAs: string | null;
  /** Somebody has stopped the answer. */
  stopped?: true;
};

/** Which conversations a caller reaches: those of their own keys; administrators every one of the workspace. */
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

/** A question that was taken and has no answer yet. */
export type Turn = {
  workspaceId: string;
  sessionId: number;
  channelSessionId: string;
  personaId: number;
  agiId: string;
  /** Asked for by id, before the session's. */
  agentId: string | null;
  /** The end of the branch that the question continues. */
  parentId: number | null;
  /** The version of the session's deletions. */
  historyVersion: number;
  userMessageId: number;
  answerId: number;
  channelMessageId: string | null;
  channelAnswerId: string | null;
  message: string;
  caller: TurnCaller;
  /** How often an answer was begun: with the owner it names who may store one. */
  attempt: number;
};

/** A part of a document that an answer rests on. */
export type Citation = {
  /** By which the answer names it, as `[1]`; null where the answer has no numbers. */
  number: number | null;
  document_id: string;
  name: string;
  /** Null where the text has no pages; page, heading and quote also for answers of versions that kept none. */
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

/** Why there is no answer, as its callers may know it. */
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
