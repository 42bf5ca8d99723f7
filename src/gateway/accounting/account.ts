// The cost of a request and the key that it belongs to. It contains no text of the request.

import type { Endpoint } from '../adapters/adapter.ts';
import type { Usage } from '../usage.ts';

export type Outcome = 'ok' | 'cached' | 'refused' | 'failed' | 'cancelled';

export type Account = {
  workspaceId: string;
  /** The key owner's e-mail. */
  subject: string;
  /** '' without a key. */
  keyId: string;
  endpoint: Endpoint;
  model: string;
  target: string;
  outcome: Outcome;
};

export type Measures = {
  /** 0 for a later part of one. */
  requests: 0 | 1;
  usage: Usage;
  cost: number;
  latencyMs: number;
  firstEventMs: number | undefined;
};
