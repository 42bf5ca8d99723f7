// A model call for another area: with the limits, fallbacks and accounting of a request over HTTP, without a request.

import type { Principal } from '../core/principal.ts';

export type ChatMessage = { role: 'system' | 'user' | 'assistant'; content: string };

export type ChatCall = {
  /** Whose limits count and whose account it is; without a key there are no limits of one. */
  caller: Pick<Principal, 'workspaceId' | 'email'> & Partial<Pick<Principal, 'keyId' | 'limits'>>;
  /** A chat model of the catalogue; absent: its default. */
  model?: string;
  messages: readonly ChatMessage[];
  temperature?: number;
  signal: AbortSignal;
};

type ChatUsage = { promptTokens: number; completionTokens: number };

/** At least one delta with text, then one end. */
export type ChatPart =
  | { type: 'delta'; text: string }
  | { type: 'end'; model: string; finishReason: string; usage: ChatUsage };

/**
 * Asks a model and gives its answer as it comes. Throws a `ServiceError`: `not-found` for an unknown model,
 * `too-many-requests`, `upstream-failed`, `upstream-timeout`, `unavailable`; also after deltas, where the model fails
 * in the middle. An answer without text is a failure, with its reason. When `signal` aborts, the model is cancelled and the reason of the signal is thrown.
 */
export type StreamChat = (call: ChatCall) => AsyncIterable<ChatPart>;
