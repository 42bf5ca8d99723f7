// A model call as it passes through the gateway, over HTTP or from another area.

import type { Principal } from '../core/principal.ts';
import type { TraceContext } from '../core/trace-context.ts';
import type { Outcome } from './accounting/usage-records.ts';
import type { Reservation } from './allowances.ts';
import type { Endpoint, GatewayRequest } from './request.ts';
import type { Usage } from './usage.ts';

export type Caller = Pick<Principal, 'workspaceId' | 'email' | 'keyId' | 'limits'>;

export type ModelCall = {
  endpoint: Endpoint;
  request: GatewayRequest;
  caller: Caller;
  /** Aborts when the caller has disconnected. */
  signal: AbortSignal;
  /** The catalogue's name of the requested model, once it is found; a fallback may answer. */
  modelId?: string;
  /** Headers of the caller that upstreams know. */
  headers?: Record<string, string> | undefined;
  /** The request may reach an upstream at most once, whatever the outcome. */
  atMostOnce?: boolean;
  /** A later part of a request that has been counted. */
  continues?: boolean;
  /** For a part: the reservation of the whole. Absent: the call makes its own reservation. */
  reservation?: Pick<Reservation, 'headers' | 'settle'> | undefined;
  /** As the access log has it; absent for requests of other areas. */
  requestId?: string;
  /** The place of an HTTP request in its trace; absent: the current one. */
  trace?: TraceContext | undefined;
};

export type Served =
  | { kind: 'whole'; status: number; headers: Record<string, string>; bytes: Uint8Array; model?: string }
  /** `over`: settled when the stream has ended or is cancelled. */
  | {
      kind: 'stream';
      headers: Record<string, string>;
      body: ReadableStream<Uint8Array>;
      over: Promise<Ended>;
    };

export type Ended = {
  outcome: Outcome;
  /** Undefined where the model does not tell: then it is estimated. */
  usage: Usage | undefined;
  /** Estimated tokens of the answer. */
  tokens?: number;
  /** From the request to the first event of a stream. */
  firstEventMs?: number | undefined;
};
